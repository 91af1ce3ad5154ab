# base.mk: functions for the makefiles.

# $(call sources,FOLDER,PATTERN): the files below FOLDER, at any depth, whose names match PATTERN
sources = $(or $(sort $(shell find $(1) -name '$(2)')),$(error find shows no $(2) below $(1)))

# $(eval $(call stamp,FILE,TEXT)): FILE holds TEXT.  When TEXT changes, FILE is written anew, and so is what depends on it.
define stamp
ifneq "$(strip $(2))" "$(file <$(1))"
.PHONY: $(1)
endif
$(1):
	@mkdir -p $$(@D)
	@echo '$(strip $(2))' >$$@
endef
