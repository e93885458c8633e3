#include "lockstep/comm/backends/hierarchical.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <barrier>
#include <numeric>
#include <random>
#include <thread>

#include "lockstep/base/system/file_descriptor.h"
#include "lockstep/comm/backends/shm/shared_memory.h"

namespace lockstep::comm {
namespace {

/// Values that show in which order they were added.
std::vector<float> values_of(int rank, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) + 1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

std::vector<float> sum_in_rank_order(int size, std::size_t count) {
  std::vector<float> sum = values_of(0, count);
  for (int rank = 1; rank < size; ++rank) {
    const auto more = values_of(rank, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += more[i];
  }
  return sum;
}

/// Two buckets of odd sizes, summed twice.
std::vector<float> summed(Communicator& comm, std::size_t count) {
  const auto memory = comm.allocate(count);
  for (int round = 0; round < 2; ++round) {
    const auto mine = values_of(comm.rank(), count);
    std::copy(mine.begin(), mine.end(), memory.begin());
    const std::size_t cut = count / 32 * 16;
    comm.start_sum(memory.first(cut));
    comm.progress();
    comm.start_sum(memory.subspan(cut));
    comm.finish();
  }
  return {memory.begin(), memory.end()};
}

void check_small_collectives(Communicator& comm) {
  std::vector<int> order(static_cast<std::size_t>(comm.size()));
  std::iota(order.begin(), order.end(), 0);
  EXPECT_EQ(comm.gather_all(comm.rank()), order);
  for (int root = 0; root < comm.size(); ++root) {
    std::vector<int> value(1000, comm.rank() == root ? 7 + root : 0);
    comm.broadcast(std::as_writable_bytes(std::span(value)), root);
    EXPECT_EQ(value, std::vector<int>(1000, 7 + root));
  }
  comm.barrier();
}

/// What the leaders of this test share.
struct Exchange {
  explicit Exchange(int size) : step(size), parts(static_cast<std::size_t>(size)) {}
  std::barrier<> step;
  std::vector<std::vector<std::byte>> parts;  ///< by rank
};

/// Joins threads that take any memory, as a network back end does.
class BetweenThreads final : public Communicator {
 public:
  BetweenThreads(int rank, int size, Exchange& exchange)
      : Communicator(rank, size), exchange_(exchange) {}

  record::Backend backend() const override { return record::Backend::kNone; }
  std::span<float> allocate(std::size_t) override { return {}; }
  void start_sum(std::span<float> values) override { started_.push_back(values); }
  void finish() override {
    for (const std::span<float> values : started_) {
      const auto all = gather_all<float>(std::span<const float>(values));
      std::fill(values.begin(), values.end(), 0.0F);
      for (std::size_t i = 0; i < all.size(); ++i) values[i % values.size()] += all[i];
    }
    started_.clear();
  }
  void sum_to_root(std::span<float>, int) override {}
  void broadcast(std::span<std::byte> bytes, int root) override {
    const auto all = gather_all<std::byte>(std::span<const std::byte>(bytes));
    std::copy_n(all.begin() + root * static_cast<std::ptrdiff_t>(bytes.size()), bytes.size(),
                bytes.begin());
  }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    exchange_.parts[static_cast<std::size_t>(rank())].assign(mine.begin(), mine.end());
    exchange_.step.arrive_and_wait();
    auto at = all.begin();
    for (const auto& part : exchange_.parts) at = std::copy(part.begin(), part.end(), at);
    exchange_.step.arrive_and_wait();
  }

 private:
  Exchange& exchange_;
  std::vector<std::span<float>> started_;
};

std::unique_ptr<Communicator> join_host(int rank, const std::vector<int>& ranks,
                                        const FileDescriptor& memory) {
  Context context;
  context.rank = rank;
  context.size = static_cast<int>(ranks.size());
  context.timeout = Seconds(20);
  context.spin = Seconds(0);
  context.world_ranks = ranks;
  return make_shared_memory(context, memory.get());
}

/// Ranks 0 and 2 on one host, 1, 3 and 4 on another.
TEST(Hierarchical, SumsInsideHostsFirst) {
  const HostGroups hosts = group_by_host({"a", "b", "a", "b", "b"});
  ASSERT_EQ(hosts.hosts(), 2);
  const std::size_t count = 5'003;
  const auto expected = sum_in_rank_order(5, count);
  const FileDescriptor memory_of_host[] = {
      FileDescriptor(::memfd_create("first-host", MFD_CLOEXEC)),
      FileDescriptor(::memfd_create("second-host", MFD_CLOEXEC))};
  Exchange leaders(2);
  std::vector<std::vector<float>> results(5);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 5; ++rank) {
    threads.emplace_back([&, rank] {
      const auto& here = hosts.neighbours(rank);
      const int host = hosts.host_of[static_cast<std::size_t>(rank)];
      auto local = join_host(hosts.local_rank(rank), here, memory_of_host[host]);
      std::unique_ptr<Communicator> across;
      if (local->rank() == 0) across = std::make_unique<BetweenThreads>(host, 2, leaders);
      const auto comm = make_hierarchical(rank, hosts, std::move(local), std::move(across));
      results[static_cast<std::size_t>(rank)] = summed(*comm, count);
      check_small_collectives(*comm);
      comm->barrier();
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(results[0][i], expected[i], 1e-5);
  for (const auto& result : results) EXPECT_EQ(result, results[0]);  // every rank has the same bits
}

}  // namespace
}  // namespace lockstep::comm
