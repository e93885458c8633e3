#include "lockstep/comm/backends/shm/shared_segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace lockstep::comm {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t whole_pages(std::size_t bytes, std::size_t page = kPage) {
  return (bytes + page - 1) / page * page;
}

}  // namespace

SharedSegment::SharedSegment(int fd, int rank, int size)
    : fd_(::fcntl(fd, F_DUPFD_CLOEXEC, 0)), rank_(rank), size_(size) {
  if (size > kMaxLocalRanks) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} workers on one host exceed the limit of shared memory, {}", size,
                            kMaxLocalRanks),
                "use --backend gloo");
  }
  const std::size_t board_bytes = whole_pages(sizeof(Board));
  const std::size_t scratch_bytes = kScratchBytes * static_cast<std::size_t>(size);
  grow(0, board_bytes + scratch_bytes);
  auto* start = static_cast<std::byte*>(map(0, board_bytes + scratch_bytes));
  board_ = reinterpret_cast<Board*>(start);
  scratch_ = start + board_bytes;
  used_ = board_bytes + scratch_bytes;
}

SharedSegment::~SharedSegment() {
  for (const auto& mapping : mappings_) ::munmap(mapping.data(), mapping.size());
}

std::byte* SharedSegment::scratch(int rank) const {
  return scratch_ + kScratchBytes * static_cast<std::size_t>(rank);
}

std::vector<float*> SharedSegment::map_stripes(std::size_t floats) {
  const std::size_t bytes = std::max<std::size_t>(1, floats) * sizeof(float);
  // Large stripes begin and end with a huge page.
  const std::size_t page = bytes >= kHugePage ? kHugePage : kPage;
  const std::size_t stripe = whole_pages(bytes, page);
  const std::size_t total = stripe * static_cast<std::size_t>(size_);
  const std::size_t offset = whole_pages(used_, page);
  used_ = offset + total;
  const std::size_t own = offset + stripe * static_cast<std::size_t>(rank_);
  if (page == kHugePage) {
    // Makes the file long enough for them all.
    grow(used_, kPage);
    used_ += kPage;
  }
  auto* start = static_cast<std::byte*>(map(offset, total));
  // Each rank takes the memory of its own stripe, so that it comes from near its cores. Pages taken
  // through the mapping are huge where the kernel allows it, those taken by grow() never are.
  const bool taken =
      page == kHugePage && ::madvise(start + (own - offset), stripe, MADV_POPULATE_WRITE) == 0;
  if (!taken) grow(own, stripe);
  std::vector<float*> stripes;
  for (int r = 0; r < size_; ++r) {
    stripes.push_back(reinterpret_cast<float*>(start + stripe * static_cast<std::size_t>(r)));
  }
  return stripes;
}

void SharedSegment::grow(std::size_t offset, std::size_t bytes) const {
  // Unlike ftruncate this never shrinks what another rank has grown, and it takes the memory now: a
  // shortage is an error here, not a SIGBUS in the middle of a step.
  const int problem =
      ::posix_fallocate(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes));
  if (problem != 0) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot allocate {} of shared memory: {}", format_bytes(Bytes{bytes}),
                            std::strerror(problem)),
                "free memory, use fewer workers, or use --backend gloo");
  }
}

void* SharedSegment::map(std::size_t offset, std::size_t bytes) {
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(),
                       static_cast<off_t>(offset));
  if (start == MAP_FAILED) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot map {} of shared memory: {}", format_bytes(Bytes{bytes}),
                            std::strerror(errno)),
                "free memory, use fewer workers, or use --backend gloo");
  }
  ::madvise(start, bytes, MADV_HUGEPAGE);  // fewer TLB misses where the kernel allows it
  mappings_.emplace_back(static_cast<std::byte*>(start), bytes);
  return start;
}

}  // namespace lockstep::comm
