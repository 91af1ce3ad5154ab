/*
 * hub9.cuh: CUB's radix sort retuned to digits of 9 bits, through its policy hub.
 */
#ifndef BENCH_HUB9_CUH
#define BENCH_HUB9_CUH

#include <cub/cub.cuh>

/* CUB with digits of 9 bits and tiles as large as its static shared memory takes. */
template <class K, class V>
struct hub9
{
	static constexpr int items = sizeof(K) == 8 || sizeof(V) == 8 ? 11 : 21;
	struct scaled
	{
		static constexpr int BLOCK_THREADS = 512, ITEMS_PER_THREAD = items;
	};
	struct Policy900 : cub::ChainedPolicy<900, Policy900, Policy900>
	{
		static constexpr bool ONESWEEP = true;
		static constexpr int ONESWEEP_RADIX_BITS = 9;
		using HistogramPolicy = cub::AgentRadixSortHistogramPolicy<128, 16, 1, K, 9>;
		using ExclusiveSumPolicy = cub::AgentRadixSortExclusiveSumPolicy<256, 9>;
		using OnesweepPolicy =
			cub::AgentRadixSortOnesweepPolicy<512, items, K, 1, cub::RADIX_RANK_MATCH_EARLY_COUNTS_ANY,
											  cub::BLOCK_SCAN_RAKING_MEMOIZE, cub::RADIX_SORT_STORE_DIRECT, 9, scaled>;
		using ScanPolicy = cub::AgentScanPolicy<512, 23, u32, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::LOAD_DEFAULT,
												cub::BLOCK_STORE_WARP_TRANSPOSE, cub::BLOCK_SCAN_RAKING_MEMOIZE>;
		using DownsweepPolicy =
			cub::AgentRadixSortDownsweepPolicy<512, 23, u64, cub::BLOCK_LOAD_TRANSPOSE, cub::LOAD_DEFAULT,
											   cub::RADIX_RANK_MATCH, cub::BLOCK_SCAN_WARP_SCANS, 7>;
		using AltDownsweepPolicy =
			cub::AgentRadixSortDownsweepPolicy<256, 47, u64, cub::BLOCK_LOAD_TRANSPOSE, cub::LOAD_DEFAULT,
											   cub::RADIX_RANK_MEMOIZE, cub::BLOCK_SCAN_WARP_SCANS, 6>;
		using UpsweepPolicy = cub::AgentRadixSortUpsweepPolicy<256, 23, u64, cub::LOAD_DEFAULT, 7>;
		using AltUpsweepPolicy = cub::AgentRadixSortUpsweepPolicy<256, 47, u64, cub::LOAD_DEFAULT, 6>;
		using SingleTilePolicy =
			cub::AgentRadixSortDownsweepPolicy<256, 19, u64, cub::BLOCK_LOAD_DIRECT, cub::LOAD_LDG,
											   cub::RADIX_RANK_MEMOIZE, cub::BLOCK_SCAN_WARP_SCANS, 6>;
		using SegmentedPolicy =
			cub::AgentRadixSortDownsweepPolicy<192, 39, u64, cub::BLOCK_LOAD_TRANSPOSE, cub::LOAD_DEFAULT,
											   cub::RADIX_RANK_MEMOIZE, cub::BLOCK_SCAN_WARP_SCANS, 6>;
		using AltSegmentedPolicy =
			cub::AgentRadixSortDownsweepPolicy<384, 11, u64, cub::BLOCK_LOAD_TRANSPOSE, cub::LOAD_DEFAULT,
											   cub::RADIX_RANK_MEMOIZE, cub::BLOCK_SCAN_WARP_SCANS, 5>;
	};
	using MaxPolicy = Policy900;
};

#endif
