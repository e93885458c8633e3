// The module behind mpi_module.h.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/base/system/ordered_thread.h"
#include "lockstep/comm/backends/mpi/mpi_module.h"
#include "lockstep/comm/backends/mpi/mpi_process.h"
#include "lockstep/comm/rendezvous/attendance.h"
#include "lockstep/comm/rendezvous/membership.h"
#include "lockstep/comm/wire/rounded_areas.h"
#include "lockstep/comm/wire/rounded_exchange.h"

namespace lockstep::comm {
namespace {

/// Counts of MPI calls are ints.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

template <class T>
std::span<T> part_at(std::span<T> all, std::size_t at) {
  return all.subspan(at, std::min(kMostAtOnce, all.size() - at));
}

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorKind::kPeer, fmt::format("the {} failed: {}", what, text),
              "another rank died, hung or lost its connection; see its output");
}

struct Freed {
  void operator()(float* memory) const { std::free(memory); }
};

class Mpi final : public Communicator {
 public:
  explicit Mpi(const Context& context)
      : Communicator(context.rank, context.size), context_(context) {
    // One thread makes all calls of this communicator.
    in_order("start", [this] { start(); });
  }

  ~Mpi() override {
    if (broken_) {
      // MPI_Finalize waits for all ranks, and one of them is lost.
      new std::shared_ptr<MpiProcess>(std::move(process_));
      return;
    }
    try {
      in_order("end", [this] { end(); });
    } catch (const Error&) {
      // The process ends anyway.
    }
  }

  record::Backend backend() const override { return record::Backend::kMpi; }

  std::span<float> allocate(std::size_t count) override {
    constexpr std::size_t kLine = 64;
    const std::size_t bytes = (count * sizeof(float) + kLine) / kLine * kLine;
    memory_.emplace_back(static_cast<float*>(std::aligned_alloc(kLine, bytes)));
    if (!memory_.back()) throw std::bad_alloc();
    std::memset(memory_.back().get(), 0, bytes);
    return {memory_.back().get(), count};
  }

  void round_sums(std::span<float> values, Wire wire) override { rounded_.add(values, wire); }

  void start_sum(std::span<float> values) override {
    if (values.empty()) return;
    thread_.add([this, split = rounded_.split(values)] {
      for (std::size_t at = 0; at < split.rounded.size(); at += kMostAtOnce) {
        sum_rounded(part_at(split.rounded, at), split.wire);
      }
      for (std::size_t at = 0; at < split.exact.size(); at += kMostAtOnce) {
        const auto part = part_at(split.exact, at);
        check(MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), MPI_FLOAT,
                            MPI_SUM, group_),
              "all-reduce");
      }
    });
  }

  void finish() override { wait("all-reduce"); }

  void sum_to_root(std::span<float> values, int root) override {
    in_order("gather", [=, this] {
      for (std::size_t at = 0; at < values.size(); at += kMostAtOnce) {
        const auto part = part_at(values, at);
        const bool here = rank() == root;
        check(MPI_Reduce(here ? MPI_IN_PLACE : part.data(), here ? part.data() : nullptr,
                         static_cast<int>(part.size()), MPI_FLOAT, MPI_SUM, root, group_),
              "gather");
      }
    });
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    in_order("broadcast", [=, this] {
      for (std::size_t at = 0; at < bytes.size(); at += kMostAtOnce) {
        const auto part = part_at(bytes, at);
        check(MPI_Bcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, root, group_),
              "broadcast");
      }
    });
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    if (mine.empty()) return;
    in_order("gather", [=, this] {
      const int count = static_cast<int>(mine.size());
      check(MPI_Allgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, group_),
            "gather");
    });
  }

 private:
  /// Rounds before the sum and after it.
  void sum_rounded(std::span<float> values, Wire wire) {
    RoundedExchange exchange(values, wire, rank(), size());
    const int bytes = static_cast<int>(exchange.message_bytes());
    check(MPI_Alltoall(exchange.outgoing().data(), bytes, MPI_BYTE, exchange.incoming().data(),
                       bytes, MPI_BYTE, group_),
          "all-reduce");
    check(MPI_Allgather(exchange.sum().data(), bytes, MPI_BYTE, exchange.incoming().data(), bytes,
                        MPI_BYTE, group_),
          "all-reduce");
    exchange.store();
  }

  void start() {
    process_ = MpiProcess::get();
    int mpi_rank = 0;
    int mpi_size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mpi_size);
    const bool whole = context_.world_ranks.empty();
    const bool member = rank() >= 0;
    const bool fits =
        (!whole || mpi_size == size()) && (!member || mpi_rank == context_.world_rank(rank()));
    if (!fits) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("MPI gave this process rank {} of {}, expected rank {} of {}",
                              mpi_rank, mpi_size, context_.world_rank(rank()), size()),
                  "start the workers with mpirun or srun --mpi=pmix, or use --backend gloo");
    }
    // Messages of this communicator must not meet those of others in this process.
    check(MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, rank(), &group_), "start");
    if (member) MPI_Comm_set_errhandler(group_, MPI_ERRORS_RETURN);
  }

  void end() {
    if (group_ != MPI_COMM_NULL) MPI_Comm_free(&group_);
    process_.reset();
  }

  void in_order(const char* what, std::function<void()> job) {
    thread_.add(std::move(job));
    wait(what);
  }

  /// MPI itself waits forever; this does not.
  void wait(const char* what) {
    constexpr Seconds kCheckInterval{0.5};
    Seconds waited{0};
    attendance_.next();
    try {
      while (!thread_.wait(kCheckInterval)) {
        context_.membership->check();
        waited += kCheckInterval;
        attendance_.announce();
        if (waited >= context_.timeout) throw attendance_.timed_out(what);
      }
    } catch (...) {
      broken_ = true;
      throw;
    }
  }

  Context context_;
  std::shared_ptr<MpiProcess> process_;
  MPI_Comm group_ = MPI_COMM_NULL;
  Attendance attendance_{context_};
  RoundedAreas rounded_;
  bool broken_ = false;  ///< a call may never return
  std::vector<std::unique_ptr<float, Freed>> memory_;
  OrderedThread thread_;
};

}  // namespace
}  // namespace lockstep::comm

extern "C" lockstep::comm::Communicator* lockstep_make_mpi(const lockstep::comm::Context& context) {
  return new lockstep::comm::Mpi(context);
}
