// Search works in pages opened as files, too, in which browsers start no workers: there a worker's script runs in a hidden frame, and
// messages are passed on as events.  The theme's own way takes a script from another server.
if (location.protocol === 'file:') {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.onerror = this.onmessage = null
      this.frame = document.createElement('iframe')
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inside = this.frame.contentWindow
      const add = (src) => new Promise((resolve) => {
        const script = inside.document.createElement('script')
        script.src = src
        script.onload = resolve
        inside.document.body.appendChild(script)
      })
      inside.postMessage = (data) => {
        const event = new MessageEvent('message', { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inside.importScripts = (...sources) => sources.reduce((all, src) => all.then(() => add(src)), Promise.resolve())
      this.ready = add(url)
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent('message', { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
