#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/base/system/file_descriptor.h"

namespace lockstep::comm {

inline constexpr int kMaxLocalRanks = 256;
/// Bytes of each rank's scratch area, through which broadcast and all_gather pass their data.
inline constexpr std::size_t kScratchBytes = std::size_t{1} << 20;

/// The counters of one rank. Written by that rank alone; on a separate cache line.
struct alignas(64) RankBoard {
  std::atomic<std::int32_t> pid{0};            ///< set on arrival
  std::atomic<std::uint64_t> sums_started{0};  ///< buckets this rank has handed over
  std::atomic<std::uint64_t> sums_done{0};     ///< buckets whose share this rank has added up
  std::atomic<std::uint64_t> rounds{0};        ///< scratch exchanges entered
  std::atomic<std::uint32_t> abandoned{0};     ///< the rank has ended with an error
};

/// The start of the segment, seen by all ranks of a host. All zero is the valid initial state, so
/// no rank has to initialise it.
struct Board {
  alignas(64) std::atomic<std::uint32_t> signal;    ///< futex word: changes when any rank proceeds
  alignas(64) std::atomic<std::uint32_t> sleepers;  ///< ranks in futex wait
  RankBoard ranks[kMaxLocalRanks];
};

/// The shared memory of the ranks of one host: a board, a scratch area per rank, and stripes of
/// memory that are handed out. The file has no name, so nothing is left behind when processes die.
class SharedSegment {
 public:
  /// `fd` is a memfd of any size that all ranks have open; a duplicate of it is kept.
  SharedSegment(int fd, int rank, int size);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  Board& board() const { return *board_; }
  std::byte* scratch(int rank) const;

  /// Maps `floats` floats for every rank and returns the start of each rank's stripe. Each rank
  /// calls it with the same size; memory of other ranks may be touched only after they have called
  /// it too.
  std::vector<float*> map_stripes(std::size_t floats);

 private:
  void* map(std::size_t offset, std::size_t bytes);
  void grow(std::size_t offset, std::size_t bytes) const;

  FileDescriptor fd_;
  int rank_;
  int size_;
  Board* board_ = nullptr;
  std::byte* scratch_ = nullptr;
  std::size_t used_ = 0;  ///< bytes of the file, the same on every rank
  std::vector<std::span<std::byte>> mappings_;
};

}  // namespace lockstep::comm
