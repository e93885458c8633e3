// The module behind mpi_module.h: the only file that knows MPI.
#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/comm/mpi/mpi_module.h"
#include "lockstep/comm/ordered_thread.h"

namespace lockstep::comm {
namespace {

/// Counts of MPI calls are ints.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

/// Open MPI halves and doubles by default, which uses each direction of a link in turn: 49 to 58 %
/// of a shaped link of 4 hosts against 89 % with its segmented ring. What the user has set counts.
void prefer_ring() {
  if (std::getenv("OMPI_MCA_coll_tuned_use_dynamic_rules") != nullptr) return;
  ::setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
  ::setenv("OMPI_MCA_coll_tuned_allreduce_algorithm", "5", 0);
}

/// Without a server of PMIx, MPI_Init ends the process with a page about how to build MPI.
void require_pmix() {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  if (!is_set("SLURM_PROCID") || is_set("PMIX_RANK") || is_set("OMPI_COMM_WORLD_RANK")) return;
  throw Error(ErrorKind::kUsage, "srun started this rank without what MPI needs",
              "add --mpi=pmix to srun, or use --backend tcp");
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
  Mpi(const MpiOptions& options, Membership& membership)
      : Communicator(options.rank, options.size),
        timeout_(options.timeout),
        membership_(membership) {
    // All calls of MPI come from the one thread, its start and its end too.
    in_order("start", [this] { start(); });
  }

  ~Mpi() override {
    if (broken_) return;
    try {
      in_order("end", [] { MPI_Finalize(); });
    } catch (const Error&) {
      // The process ends anyway.
    }
  }

  std::string_view backend() const override { return "mpi"; }

  std::span<float> allocate(std::size_t count) override {
    constexpr std::size_t kLine = 64;
    const std::size_t bytes = (count * sizeof(float) + kLine) / kLine * kLine;
    memory_.emplace_back(static_cast<float*>(std::aligned_alloc(kLine, bytes)));
    if (!memory_.back()) throw std::bad_alloc();
    std::memset(memory_.back().get(), 0, bytes);
    return {memory_.back().get(), count};
  }

  void start_sum(std::span<float> values) override {
    if (values.empty()) return;
    thread_.add([values] {
      for (std::size_t at = 0; at < values.size(); at += kMostAtOnce) {
        const auto part = values.subspan(at, std::min(kMostAtOnce, values.size() - at));
        check(MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), MPI_FLOAT,
                            MPI_SUM, MPI_COMM_WORLD),
              "all-reduce");
      }
    });
  }

  void finish() override { wait("all-reduce"); }

  void sum_to_root(std::span<float> values, int root) override {
    in_order("gather", [=, this] {
      for (std::size_t at = 0; at < values.size(); at += kMostAtOnce) {
        const auto part = values.subspan(at, std::min(kMostAtOnce, values.size() - at));
        const bool here = rank() == root;
        check(MPI_Reduce(here ? MPI_IN_PLACE : part.data(), here ? part.data() : nullptr,
                         static_cast<int>(part.size()), MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD),
              "gather");
      }
    });
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    in_order("broadcast", [=] {
      for (std::size_t at = 0; at < bytes.size(); at += kMostAtOnce) {
        const auto part = bytes.subspan(at, std::min(kMostAtOnce, bytes.size() - at));
        check(MPI_Bcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, root, MPI_COMM_WORLD),
              "broadcast");
      }
    });
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    if (mine.empty()) return;
    in_order("gather", [=] {
      const int count = static_cast<int>(mine.size());
      check(
          MPI_Allgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, MPI_COMM_WORLD),
          "gather");
    });
  }

 private:
  void start() const {
    require_pmix();
    prefer_ring();
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int mpi_rank = 0;
    int mpi_size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mpi_size);
    if (mpi_rank != rank() || mpi_size != size()) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("MPI says that this is rank {} of {}, not {} of {}", mpi_rank,
                              mpi_size, rank(), size()),
                  "start the workers with mpirun or srun --mpi=pmix, or use --backend tcp");
    }
  }

  void in_order(const char* what, std::function<void()> job) {
    thread_.add(std::move(job));
    wait(what);
  }

  /// MPI itself waits for ever; whoever waits for it does not.
  void wait(const char* what) {
    constexpr Seconds kLook{0.5};
    Seconds waited{0};
    try {
      while (!thread_.wait(kLook)) {
        membership_.check();
        waited += kLook;
        if (waited < timeout_) continue;
        throw Error(ErrorKind::kPeer,
                    fmt::format("the {} did not end within {}", what, format_seconds(timeout_)),
                    "see what the other ranks were doing; raise --timeout if they were only slow");
      }
    } catch (...) {
      broken_ = true;
      throw;
    }
  }

  Seconds timeout_;
  Membership& membership_;
  bool broken_ = false;  ///< a call may never return
  std::vector<std::unique_ptr<float, Freed>> memory_;
  OrderedThread thread_;
};

}  // namespace
}  // namespace lockstep::comm

extern "C" lockstep::comm::Communicator* lockstep_make_mpi(
    const lockstep::comm::MpiOptions& options, lockstep::comm::Membership& membership) {
  return new lockstep::comm::Mpi(options, membership);
}
