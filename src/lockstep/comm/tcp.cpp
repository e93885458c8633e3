#include "lockstep/comm/tcp.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "lockstep/base/error.h"
#include "lockstep/comm/ordered_thread.h"
#include "lockstep/comm/rounded_areas.h"
#include "lockstep/comm/rounded_message.h"
#include "lockstep/comm/sum_across_ranks.h"

namespace lockstep::comm {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLineFloats = kLine / sizeof(float);
/// Most that goes from one rank to another at a time: what a rank keeps of the others stays small.
constexpr std::size_t kRoundFloats = std::size_t{1} << 18;

/// Up to here the number of messages decides, beyond it how well the links are used.
constexpr std::size_t kAllAtOnceBytes = 192 * 1024;

struct Freed {
  void operator()(float* memory) const { std::free(memory); }
};
using Floats = std::unique_ptr<float, Freed>;

Floats zeroed(std::size_t count) {
  const std::size_t bytes =
      (std::max<std::size_t>(count, 1) * sizeof(float) + kLine - 1) / kLine * kLine;
  Floats memory(static_cast<float*>(std::aligned_alloc(kLine, bytes)));
  if (!memory) throw std::bad_alloc();
  std::memset(memory.get(), 0, bytes);
  return memory;
}

class Tcp final : public Communicator {
 public:
  Tcp(const TcpMesh::Options& options, Membership& membership)
      : Communicator(options.rank, options.size),
        timeout_(options.timeout),
        membership_(membership),
        mesh_(options, membership) {}

  std::string_view backend() const override { return "tcp"; }

  std::span<float> allocate(std::size_t count) override {
    memory_.push_back(zeroed(count));
    return {memory_.back().get(), count};
  }

  void round_sums(std::span<float> values, Wire wire) override { rounded_.add(values, wire); }

  void start_sum(std::span<float> values) override {
    if (values.empty()) return;
    const RoundedAreas::Split split = rounded_.split(values);
    thread_.add([this, split] {
      in_slices(split.rounded, [&](std::span<float> slice) { sum_rounded(slice, split.wire); });
      in_slices(split.exact, [&](std::span<float> slice) { sum(slice); });
    });
  }

  void finish() override { wait("all-reduce"); }

  void sum_to_root(std::span<float> values, int root) override {
    if (values.empty()) return;
    thread_.add([this, values, root] {
      std::vector<TcpMesh::Parcel> parcels(count());
      if (rank() != root) {
        parcels[static_cast<std::size_t>(root)].out = std::as_bytes(values);
        return mesh_.exchange(parcels, "gather");
      }
      const std::size_t stride = (values.size() + kLineFloats - 1) / kLineFloats * kLineFloats;
      const Floats gathered = zeroed(stride * count());
      std::vector<float*> copies;
      for (std::size_t r = 0; r < count(); ++r) {
        copies.push_back(r == index() ? values.data() : gathered.get() + r * stride);
        parcels[r].in = std::as_writable_bytes(std::span(copies.back(), values.size()));
      }
      mesh_.exchange(parcels, "gather");
      sum_into_root(copies, index(), values.size());
    });
    wait("gather");
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    if (bytes.empty()) return;
    thread_.add([this, bytes, root] {
      std::vector<TcpMesh::Parcel> parcels(count());
      if (rank() == root) {
        for (auto& parcel : parcels) parcel.out = bytes;
      } else {
        parcels[static_cast<std::size_t>(root)].in = bytes;
      }
      mesh_.exchange(parcels, "broadcast");
    });
    wait("broadcast");
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    if (mine.empty()) return;
    thread_.add([this, mine, all] {
      std::vector<TcpMesh::Parcel> parcels(count());
      for (std::size_t r = 0; r < count(); ++r) {
        parcels[r] = {mine, all.subspan(r * mine.size(), mine.size())};
      }
      std::memcpy(parcels[index()].in.data(), mine.data(), mine.size());
      exchange_all(parcels, all.size(), "gather");
    });
    wait("gather");
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(size()); }
  std::size_t index() const { return static_cast<std::size_t>(rank()); }

  /// Exchanges time out by themselves, each; what is queued may take longer than one of them.
  void wait(const char* what) {
    while (!thread_.wait(timeout_)) membership_.check();
  }

  /// Of all with all; `bytes` is the same on every rank, and so is what follows from it.
  void exchange_all(const std::vector<TcpMesh::Parcel>& parcels, std::size_t bytes,
                    const char* what) {
    if (bytes <= kAllAtOnceBytes || count() == 2) return mesh_.exchange(parcels, what);
    mesh_.exchange_in_rounds(parcels, what);
  }

  template <class Sum>
  void in_slices(std::span<float> values, Sum&& sum_of) {
    const std::size_t slice = kRoundFloats * count();
    for (std::size_t at = 0; at < values.size(); at += slice) {
      sum_of(values.subspan(at, std::min(slice, values.size() - at)));
    }
  }

  /// The part of a bucket that rank `r` adds up: the same cut as in shared memory.
  std::span<float> part(std::span<float> values, std::size_t r) const {
    const std::size_t lines = (values.size() + kLineFloats - 1) / kLineFloats;
    const std::size_t begin = std::min(values.size(), lines * r / count() * kLineFloats);
    const std::size_t end = std::min(values.size(), lines * (r + 1) / count() * kLineFloats);
    return values.subspan(begin, end - begin);
  }

  void sum(std::span<float> values) {
    const std::span<float> own = part(values, index());
    const std::size_t stride = (own.size() + kLineFloats - 1) / kLineFloats * kLineFloats;
    if (stride * count() > scratch_floats_) {
      scratch_floats_ = stride * count();
      scratch_ = zeroed(scratch_floats_);
    }
    std::vector<TcpMesh::Parcel> parcels(count());
    std::vector<float*> copies;
    for (std::size_t r = 0; r < count(); ++r) {
      copies.push_back(r == index() ? own.data() : scratch_.get() + r * stride);
      parcels[r] = {std::as_bytes(part(values, r)),
                    std::as_writable_bytes(std::span(copies.back(), own.size()))};
    }
    exchange_all(parcels, values.size_bytes(), "all-reduce");
    sum_across_ranks(copies, own.size());
    for (std::size_t r = 0; r < count(); ++r) {
      parcels[r] = {std::as_bytes(own), std::as_writable_bytes(part(values, r))};
    }
    exchange_all(parcels, values.size_bytes(), "all-reduce");
  }

  /// As sum(), but what travels is rounded, once before the sum and once after it. A rank rounds
  /// also what stays with it, so that all get the same bits.
  void sum_rounded(std::span<float> values, Wire wire) {
    const std::span<float> own = part(values, index());
    std::size_t sent = 0;
    for (std::size_t r = 0; r < count(); ++r) sent += padded_bytes(part(values, r).size());
    const std::size_t own_bytes = padded_bytes(own.size());
    outgoing_.resize(std::max(outgoing_.size(), sent));
    incoming_.resize(std::max(incoming_.size(), std::max(sent, own_bytes * count())));

    std::vector<TcpMesh::Parcel> parcels(count());
    std::size_t at = 0;
    for (std::size_t r = 0; r < count(); ++r) {
      const std::span<float> theirs = part(values, r);
      pack_rounded(wire, theirs, outgoing_.data() + at);
      parcels[r] = {{outgoing_.data() + at, rounded_message_bytes(theirs.size())},
                    {incoming_.data() + r * own_bytes, rounded_message_bytes(own.size())}};
      at += padded_bytes(theirs.size());
    }
    const std::size_t travelling = values.size() * sizeof(std::uint16_t);
    exchange_all(parcels, travelling, "all-reduce");
    for (std::size_t r = 0; r < count(); ++r) {
      const std::byte* message = r == index() ? parcels[r].out.data() : parcels[r].in.data();
      unpack_rounded(wire, message, r > 0, own);
    }
    pack_rounded(wire, own, outgoing_.data());
    at = 0;
    for (std::size_t r = 0; r < count(); ++r) {
      const std::size_t theirs = part(values, r).size();
      parcels[r] = {{outgoing_.data(), rounded_message_bytes(own.size())},
                    {incoming_.data() + at, rounded_message_bytes(theirs)}};
      at += padded_bytes(theirs);
    }
    exchange_all(parcels, travelling, "all-reduce");
    for (std::size_t r = 0; r < count(); ++r) {
      const std::byte* message = r == index() ? outgoing_.data() : parcels[r].in.data();
      unpack_rounded(wire, message, false, part(values, r));
    }
  }

  /// Messages begin at even addresses.
  static std::size_t padded_bytes(std::size_t floats) {
    return (rounded_message_bytes(floats) + kLine - 1) / kLine * kLine;
  }

  Seconds timeout_;
  Membership& membership_;
  TcpMesh mesh_;
  RoundedAreas rounded_;
  std::vector<std::byte> outgoing_;
  std::vector<std::byte> incoming_;
  std::vector<Floats> memory_;
  Floats scratch_;
  std::size_t scratch_floats_ = 0;
  OrderedThread thread_;  // last: it uses the rest
};

}  // namespace

std::unique_ptr<Communicator> make_tcp(const TcpMesh::Options& options, Membership& membership) {
  return std::make_unique<Tcp>(options, membership);
}

}  // namespace lockstep::comm
