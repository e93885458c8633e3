#include "lockstep/comm/backends/shm/shared_memory.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <deque>
#include <optional>

#include "lockstep/base/error.h"
#include "lockstep/comm/backends/shm/shared_segment.h"
#include "lockstep/comm/backends/sum_across_ranks.h"
#include "lockstep/comm/rendezvous/peer_watch.h"
#include "lockstep/comm/wire/shares.h"

namespace lockstep::comm {
namespace {

/// How often a sleeping rank checks that the others are still alive.
constexpr long kLookNanoseconds = 50'000'000;

/// Bytes of a broadcast or all_gather that are passed on in one round.
constexpr std::size_t kPassedAtOnce = kScratchBytes / 2;

/// Buckets begin at multiples of this many floats.
constexpr std::size_t kScaleStride = 16;

/// Leaves the core to its other hardware thread for a moment.
void pause_spinning() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class SharedMemory final : public Communicator {
 public:
  SharedMemory(const Context& context, int memory)
      : Communicator(context.rank, context.size),
        context_(context),
        segment_(memory, context.rank, context.size) {
    mine().pid.store(static_cast<std::int32_t>(::getpid()), std::memory_order_release);
    announce();
    wait_for_all("start", [](const RankBoard& rank) {
      return rank.pid.load(std::memory_order_acquire) != 0;
    });
    std::vector<pid_t> pids;
    for (int r = 0; r < size(); ++r) pids.push_back(r == rank() ? 0 : board_of(r).pid.load());
    watch_.emplace(pids);
  }

  record::Backend backend() const override { return record::Backend::kSharedMemory; }

  std::span<float> allocate(std::size_t count) override {
    return allocate_rounded(count, Wire::kFloat, count);
  }

  std::span<float> allocate_rounded(std::size_t count, Wire wire, std::size_t exact) override {
    Area area{.stripes = segment_.map_stripes(count), .count = count, .wire = wire};
    if (wire != Wire::kFloat) {
      area.exact_from = count - exact;
      area.encoded = segment_.map_stripes(count / 2 + 1);
      area.scales = segment_.map_stripes(count / kScaleStride + 1);
    }
    areas_.push_back(std::move(area));
    barrier();  // no rank may write to a stripe before its owner has mapped it
    return {areas_.back().stripes[static_cast<std::size_t>(rank())], count};
  }

  /// The memory of all ranks' stripes, one after the other: each rank allocates 1/N of it.
  std::span<float> allocate_common(std::size_t count) override {
    const auto n = static_cast<std::size_t>(size());
    float* const start = segment_.map_stripes((count + n - 1) / n)[0];
    barrier();
    return {start, count};
  }

  void start_sum(std::span<float> values) override { start(values, false); }
  void start_sum_of_shares(std::span<float> values) override { start(values, true); }

  void progress() override {
    while (!pending_.empty() && all_passed(&RankBoard::sums_started, added_ + 1)) add_next();
  }

  void finish() override {
    while (!pending_.empty()) {
      wait_for_all("all-reduce", [this](const RankBoard& r) {
        return r.sums_started.load(std::memory_order_acquire) > added_;
      });
      add_next();
    }
    wait_for_all("all-reduce", [this](const RankBoard& r) {
      return r.sums_done.load(std::memory_order_acquire) >= added_;
    });
  }

  std::uint64_t sums_done() const override {
    std::uint64_t done = added_;
    for (int r = 0; r < size(); ++r) {
      done = std::min(done, board_of(r).sums_done.load(std::memory_order_acquire));
    }
    return done;
  }

  void sum_to_root(std::span<float> values, int root) override {
    const Pending all = locate(values);
    enter_round("gather");
    if (rank() == root) {
      std::vector<float*> copies;
      for (float* stripe : all.area->stripes) copies.push_back(stripe + all.offset);
      sum_into_root(copies, static_cast<std::size_t>(root), all.count);
    }
    enter_round("gather");
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    for (std::size_t at = 0; at < bytes.size(); at += kPassedAtOnce) {
      const std::size_t length = std::min(kPassedAtOnce, bytes.size() - at);
      const std::uint64_t round = next_round();
      if (rank() == root) std::memcpy(scratch(root, round), bytes.data() + at, length);
      enter_round("broadcast");
      if (rank() != root) std::memcpy(bytes.data() + at, scratch(root, round), length);
    }
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    for (std::size_t at = 0; at < mine.size(); at += kPassedAtOnce) {
      const std::size_t length = std::min(kPassedAtOnce, mine.size() - at);
      const std::uint64_t round = next_round();
      std::memcpy(scratch(rank(), round), mine.data() + at, length);
      enter_round("gather");
      for (int r = 0; r < size(); ++r) {
        std::memcpy(all.data() + static_cast<std::size_t>(r) * mine.size() + at, scratch(r, round),
                    length);
      }
    }
  }

  void abandon() noexcept override {
    mine().abandoned.store(1, std::memory_order_release);
    announce();
  }

 private:
  struct Area {
    std::vector<float*> stripes;
    std::size_t count = 0;
    Wire wire = Wire::kFloat;
    std::size_t exact_from = 0;     ///< of a rounded area: floats from here on are not
    std::vector<float*> encoded{};  ///< two to a float
    std::vector<float*> scales{};   ///< one for each kScaleStride floats; a bucket uses its first
  };
  /// A bucket on every rank.
  struct Pending {
    const Area* area = nullptr;
    std::size_t offset = 0;
    std::size_t count = 0;
    bool shares_only = false;  ///< each rank gets the sums of its own shares alone
  };

  RankBoard& board_of(int r) const { return segment_.board().ranks[r]; }
  RankBoard& mine() const { return board_of(rank()); }

  Pending locate(std::span<float> values) const {
    for (const Area& area : areas_) {
      const float* start = area.stripes[static_cast<std::size_t>(rank())];
      if (values.data() < start || values.data() + values.size() > start + area.count) continue;
      return {&area, static_cast<std::size_t>(values.data() - start), values.size()};
    }
    throw Error(ErrorKind::kInternal, "start_sum() on memory that allocate() did not return");
  }

  void start(std::span<float> values, bool shares_only) {
    if (values.empty()) return;
    pending_.push_back(locate(values));
    pending_.back().shares_only = shares_only;
    encode_own(pending_.back());
    mine().sums_started.fetch_add(1, std::memory_order_release);
    announce();
    progress();
  }

  /// Adds up this rank's shares of the oldest pending bucket, which all ranks have handed over.
  void add_next() {
    const Pending bucket = pending_.front();
    const std::size_t exact = bucket.offset + rounded_count(bucket);
    const Shares mine_of{.rank = rank(), .size = size()};
    mine_of.each(bucket.offset, exact,
                 [&](std::size_t begin, std::size_t end) { add_rounded(bucket, begin, end); });
    std::vector<float*> copies(bucket.area->stripes.size());
    mine_of.each(exact, bucket.offset + bucket.count, [&](std::size_t begin, std::size_t end) {
      std::transform(bucket.area->stripes.begin(), bucket.area->stripes.end(), copies.begin(),
                     [&](float* stripe) { return stripe + begin; });
      if (bucket.shares_only) {
        sum_into_root(copies, static_cast<std::size_t>(rank()), end - begin);
      } else {
        sum_across_ranks(copies, end - begin);
      }
    });
    pending_.pop_front();
    ++added_;
    mine().sums_done.store(added_, std::memory_order_release);
    announce();
  }

  /// Floats at the bucket's start that travel in 16 bits.
  static std::size_t rounded_count(const Pending& bucket) {
    const Area& area = *bucket.area;
    if (area.wire == Wire::kFloat || area.exact_from <= bucket.offset) return 0;
    return std::min(bucket.count, area.exact_from - bucket.offset);
  }

  static std::uint16_t* encoded_at(const Area& area, std::size_t r, std::size_t at) {
    return reinterpret_cast<std::uint16_t*>(area.encoded[r]) + at;
  }

  void encode_own(const Pending& bucket) {
    const std::size_t count = rounded_count(bucket);
    if (count == 0) return;
    const Area& area = *bucket.area;
    const auto r = static_cast<std::size_t>(rank());
    const float* values = area.stripes[r] + bucket.offset;
    const float scale = wire_scale(area.wire, values, count);
    area.scales[r][bucket.offset / kScaleStride] = scale;
    encode(area.wire, values, count, scale, encoded_at(area, r, bucket.offset));
  }

  /// Sums of what all ranks encoded of [begin, end) of the area, a part of the bucket.
  void add_rounded(const Pending& bucket, std::size_t begin, std::size_t end) {
    const Area& area = *bucket.area;
    const auto own = static_cast<std::size_t>(rank());
    constexpr std::size_t kBlock = 1024;
    for (std::size_t at = begin; at < end; at += kBlock) {
      const std::size_t length = std::min(kBlock, end - at);
      float* sum = area.stripes[own] + at;
      for (std::size_t r = 0; r < area.stripes.size(); ++r) {
        decode(area.wire, encoded_at(area, r, at), length,
               area.scales[r][bucket.offset / kScaleStride], r > 0, sum);
      }
      for (std::size_t r = 0; r < area.stripes.size() && !bucket.shares_only; ++r) {
        if (r != own) std::copy_n(sum, length, area.stripes[r] + at);
      }
    }
  }

  bool all_passed(std::atomic<std::uint64_t> RankBoard::*counter, std::uint64_t target) const {
    for (int r = 0; r < size(); ++r) {
      if ((board_of(r).*counter).load(std::memory_order_acquire) < target) return false;
    }
    return true;
  }

  std::uint64_t next_round() const { return mine().rounds.load(std::memory_order_relaxed) + 1; }

  /// The halves of the scratch areas are used in turn: a rank that writes for this round has left
  /// the one before, which all ranks entered after they had read what was written for the one
  /// before that.
  std::byte* scratch(int r, std::uint64_t round) const {
    return segment_.scratch(r) + round % 2 * kPassedAtOnce;
  }

  void enter_round(const char* what) {
    const std::uint64_t target = mine().rounds.fetch_add(1, std::memory_order_acq_rel) + 1;
    announce();
    wait_for_all(what, [target](const RankBoard& r) {
      return r.rounds.load(std::memory_order_acquire) >= target;
    });
  }

  /// Wakes sleeping ranks; costs no system call when none sleeps.
  void announce() const noexcept {
    Board& board = segment_.board();
    board.signal.fetch_add(1, std::memory_order_seq_cst);
    if (board.sleepers.load(std::memory_order_seq_cst) != 0) {
      ::syscall(SYS_futex, &board.signal, FUTEX_WAKE, kMaxLocalRanks, nullptr, nullptr, 0);
    }
  }

  template <class Arrived>
  std::vector<int> missing(const Arrived& arrived) const {
    std::vector<int> ranks;
    for (int r = 0; r < size(); ++r) {
      if (!arrived(board_of(r))) ranks.push_back(r);
    }
    return ranks;
  }

  template <class Arrived>
  void wait_for_all(const char* what, const Arrived& arrived) {
    const auto everyone = [&] {
      for (int r = 0; r < size(); ++r) {
        if (!arrived(board_of(r))) return false;
      }
      return true;
    };
    const Nanoseconds began = clock_.monotonic();
    const auto spin_ns = static_cast<Nanoseconds>(context_.spin.count() * 1e9);
    do {
      for (int i = 0; i < 64; ++i) {
        if (everyone()) return;
        pause_spinning();
      }
    } while (clock_.monotonic() - began < spin_ns);

    Board& board = segment_.board();
    while (true) {
      board.sleepers.fetch_add(1, std::memory_order_seq_cst);
      const std::uint32_t seen = board.signal.load(std::memory_order_seq_cst);
      bool slept_through = false;
      if (!everyone()) {
        const timespec pause{0, kLookNanoseconds};
        slept_through =
            ::syscall(SYS_futex, &board.signal, FUTEX_WAIT, seen, &pause, nullptr, 0) != 0 &&
            errno == ETIMEDOUT;
      }
      board.sleepers.fetch_sub(1, std::memory_order_seq_cst);
      if (everyone()) return;
      check_abandoned(what);
      const Seconds waited(static_cast<double>(clock_.monotonic() - began) * 1e-9);
      if (slept_through) check_deaths(what, missing(arrived));
      if (waited > context_.timeout) {
        abandon();
        const auto late = missing(arrived);
        throw Error(ErrorKind::kPeer,
                    fmt::format("{} did not reach the {} within {}", name_ranks(named(late)), what,
                                format_seconds(context_.timeout)),
                    "see its output; raise --timeout if it was only slow");
      }
    }
  }

  void check_abandoned(const char* what) const {
    for (int r = 0; r < size(); ++r) {
      if (r != rank() && board_of(r).abandoned.load(std::memory_order_acquire) != 0) {
        throw Error(ErrorKind::kPeer,
                    fmt::format("rank {} stopped before the {}", named({r})[0], what),
                    "see its output for the cause");
      }
    }
  }

  /// A rank that ended after its part was done does not matter, so only missing ones count.
  void check_deaths(const char* what, const std::vector<int>& late) const {
    if (!watch_) return;
    for (int r : watch_->gone()) {
      if (std::find(late.begin(), late.end(), r) == late.end()) continue;
      throw Error(ErrorKind::kPeer, fmt::format("rank {} died before the {}", named({r})[0], what),
                  "see its output for the cause");
    }
  }

  /// Their ranks in the whole run.
  std::vector<int> named(std::vector<int> ranks) const {
    for (int& r : ranks) r = context_.world_rank(r);
    return ranks;
  }

  SystemClock clock_;
  Context context_;
  SharedSegment segment_;
  std::optional<PeerWatch> watch_;
  std::deque<Area> areas_;  ///< a deque: pending buckets point into it
  std::deque<Pending> pending_;
  std::uint64_t added_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_shared_memory(const Context& context, int memory) {
  return std::make_unique<SharedMemory>(context, memory);
}

}  // namespace lockstep::comm
