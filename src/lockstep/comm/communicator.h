#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/clock.h"
#include "lockstep/base/units.h"
#include "lockstep/comm/wire/half_floats.h"
#include "lockstep/record/choices.h"

namespace lockstep::comm {

/// Where memory is: accessible to the host, or to a device only.
enum class Residence { kHost, kDevice };

/// Collectives among the ranks of one run. Every rank makes the same calls in the same order with
/// equal sizes, from one thread per rank. A call that waits for other ranks throws kPeer, naming
/// the rank, when one of them has exited or has not arrived within the timeout; the communicator
/// cannot be used after that.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  virtual record::Backend backend() const = 0;

  /// Of the memory that allocate() returns.
  virtual Residence residence() const { return Residence::kHost; }

  /// Zeroed, 64-byte aligned memory that lives as long as the communicator and that start_sum()
  /// takes without copying. Collective; blocks.
  virtual std::span<float> allocate(std::size_t count) = 0;

  /// Zeroed memory that all ranks have in common: what one writes, the others read after a call
  /// that waited for it. Empty where there is none. Lives as long as the communicator. Collective;
  /// blocks.
  virtual std::span<float> allocate_common(std::size_t) { return {}; }

  /// As allocate(), but sums of this memory travel in 16 bits, all but its last `exact` floats.
  /// Every rank still gets the same bits. The sum of x_r is off by at most u * sum |x_r| for each
  /// time it is rounded, with u = 2^-11 for kHalf and 2^-8 for kBrain; each back end documents how
  /// often that is.
  virtual std::span<float> allocate_rounded(std::size_t count, Wire wire, std::size_t exact);

  /// From now on sums of this memory travel in that format; `wire` is not kFloat. For back ends
  /// that build on this one. Throws kUsage where it cannot.
  virtual void round_sums(std::span<float> values, Wire wire);

  /// Begins to replace `values`, a part of allocate()d memory, by their sum over all ranks. Does
  /// not block; the values must not be touched before finish(). Every rank gets the same bits; the
  /// order of the additions depends on the back end.
  virtual void start_sum(std::span<float> values) = 0;

  /// As start_sum(), but a rank gets the sums of its own shares (comm/wire/shares.h, counted from
  /// the start of the memory) and keeps its values elsewhere. Back ends may sum everything instead.
  virtual void start_sum_of_shares(std::span<float> values) { start_sum(values); }

  /// Advances started sums without waiting. Back ends without their own thread need it called
  /// from time to time during other work.
  virtual void progress() {}

  /// Blocks until all started sums are done.
  virtual void finish() = 0;

  /// As finish(), but where memory is on a device, only what is queued on its current stream from
  /// here on waits for the sums, not the host. A failure then shows in confirm().
  virtual void queue_finish() { finish(); }
  /// Blocks until the sums of queue_finish() are done. Throws what finish() throws.
  virtual void confirm() {}

  /// How many of all sums ever started are known to be done on every rank. Does not block. For back
  /// ends that build on this one.
  virtual std::uint64_t sums_done() const { return 0; }

  /// Replaces root's `values`, a part of allocate()d memory, by their sum over all ranks, which
  /// root forms alone from what it gathers; the values of other ranks stay. Blocks. Root receives
  /// N-1 times the bytes, which is what a reduction on one device costs.
  virtual void sum_to_root(std::span<float> values, int root) = 0;

  /// Overwrites `bytes` on every rank by those of `root`. Blocks.
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;

  /// Concatenates every rank's `mine`, all of one size, in rank order into `all`. Blocks.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;

  /// Blocks until every rank has called it.
  void barrier();

  /// Signals to the other ranks that this one cannot continue, so that they need not wait for a
  /// timeout. Never throws.
  virtual void abandon() noexcept {}

  template <class T>
  std::vector<T> gather_all(std::span<const T> mine) {
    std::vector<T> all(mine.size() * static_cast<std::size_t>(size_));
    all_gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)));
    return all;
  }
  template <class T>
  std::vector<T> gather_all(const T& mine) {
    return gather_all(std::span<const T>(&mine, 1));
  }

 protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

 private:
  int rank_;
  int size_;
};

}  // namespace lockstep::comm
