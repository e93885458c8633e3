// Training over NCCL, with a fake in NCCL's place: ranks are threads, each with a GPU of the
// double.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "lockstep/comm/backends/c10d/nccl.h"
#include "lockstep/comm/backends/single.h"
#include "lockstep/comm/rendezvous/in_process_ranks.h"
#include "lockstep/train/checkpoint/checkpoint.h"
#include "lockstep/train/trainer/trainer.h"
#include "ordering.h"

namespace lockstep::train {
namespace {

using device_double::Ordering;
using record::Strategy;

constexpr int kGlobalBatch = 64;

record::TrainRequest request_for(int ranks, const std::string& folder, std::int64_t steps) {
  record::TrainRequest request;
  request.spec.recipe = "fashion";
  request.spec.device = "cuda";
  request.spec.data.path = "synthetic";
  request.spec.data.synthetic = true;
  request.spec.augment = false;
  request.spec.workers = ranks;
  request.spec.batch_per_worker = kGlobalBatch / ranks;
  request.spec.learning_rate = 0.05;
  request.spec.max_steps = steps;
  request.checkpoint_dir = folder;
  request.resume = true;
  request.validate = false;
  return request;
}

void train_on_one_gpu(const record::TrainRequest& request) {
  const SystemClock clock;
  const std::atomic<bool> stop = false;
  const auto single = comm::make_single();
  Trainer(
      request, {}, *single, clock, [](const record::Event&) {}, stop)
      .run();
}

void train_over_nccl(const record::TrainRequest& request) {
  comm::on_all_ranks(request.spec.workers, comm::fresh_job(), [&](comm::Session& session) {
    const SystemClock clock;
    const std::atomic<bool> stop = false;
    const int rank = session.options().place.rank;
    const auto nccl = comm::make_nccl(session.context(), rank);
    try {
      Trainer(
          request, {}, *nccl, clock, [](const record::Event&) {}, stop, rank)
          .run();
    } catch (const std::exception& error) {
      nccl->abandon();
      ADD_FAILURE() << "rank " << rank << ": " << error.what();
    }
  });
}

class NcclTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "nccl_training_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    // Threads have one generator of random numbers: all runs begin from the parameters of one.
    train_on_one_gpu(request_for(1, (folder_ / "begin").string(), 1));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string fresh_folder() {
    const auto path = folder_ / std::to_string(folders_++);
    std::filesystem::copy(folder_ / "begin", path, std::filesystem::copy_options::recursive);
    return path.string();
  }

  /// The parameters after 20 steps, and how often the host waited for a GPU.
  struct Trained {
    std::vector<NamedTensor> model;
    std::int64_t waits = 0;
  };
  using Change = std::function<void(record::TrainRequest&)>;
  Trained trained(int ranks, const Change& change, std::int64_t steps = 20) {
    auto request = request_for(ranks, fresh_folder(), steps);
    change(request);
    const std::int64_t before = Ordering::instance().waits();
    ranks == 1 ? train_on_one_gpu(request) : train_over_nccl(request);
    Trained result;
    result.waits = Ordering::instance().waits() - before;
    const auto newest = CheckpointFolder(request.checkpoint_dir).read_newest();
    EXPECT_EQ(newest->position.total, steps);
    result.model = newest->model;
    return result;
  }

 private:
  std::filesystem::path folder_;
  int folders_ = 0;
};

double distance(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = a[i].tensor.to(torch::kDouble), y = b[i].tensor.to(torch::kDouble);
    difference += (x - y).square().sum().item<double>();
    size += x.square().sum().item<double>();
  }
  return std::sqrt(difference / size);
}

TEST_F(NcclTraining, TwoGpusWithBatchBEqualOneWithTwiceTheBatch) {
  const std::int64_t reports = Ordering::instance().reports();
  const auto one = trained(1, [](auto&) {});
  const std::pair<const char*, Change> cases[] = {
      {"overlap", [](auto& r) { r.spec.bucket_bytes = 16'000; }},
      {"blocking", [](auto& r) { r.spec.strategy = Strategy::kBlocking; }},
      {"central", [](auto& r) { r.spec.strategy = Strategy::kCentral; }},
      {"local",
       [](auto& r) {
         r.spec.strategy = Strategy::kLocal;
         r.spec.average_every = 1;
       }},
      {"accumulate", [](auto& r) {
         r.spec.batch_per_worker /= 4;
         r.spec.accumulate = 4;
       }}};
  for (const auto& [name, change] : cases) {
    const auto checked = [&change = change](auto& request) {
      change(request);
      request.check_ranks = true;
    };
    // As in tests/parallel: the same sums in another order, over 20 steps.
    const double off = distance(one.model, trained(2, checked).model);
    EXPECT_LT(off, 1e-5) << name;
    EXPECT_GT(off, 0) << name << " did not take another path";
  }
  EXPECT_EQ(Ordering::instance().reports(), reports);
}

TEST_F(NcclTraining, GradientsInSixteenBitsStayWithinTheirRounding) {
  const auto exact = trained(2, [](auto&) {});
  for (const auto wire : {record::Wire::kHalf, record::Wire::kBrain}) {
    const auto rounded = trained(2, [&](auto& request) { request.spec.wire = wire; });
    // Rounded on each rank and in the sum: twice the unit of Options in tests/parallel.
    const double unit = wire == record::Wire::kHalf ? std::ldexp(1, -10) : std::ldexp(1, -7);
    const double off = distance(exact.model, rounded.model);
    EXPECT_LT(off, unit);
    EXPECT_GT(off, unit / 1000) << "nothing was rounded";
  }
}

TEST_F(NcclTraining, HostsWaitTwicePerStepAtMost) {
  // For the sum that is confirmed and for the results that follow it, with any optimizer.
  for (const auto optimizer :
       {record::Optimizer::kSgd, record::Optimizer::kAdam, record::Optimizer::kLars}) {
    for (const auto phases : {record::PhaseTiming::kFull, record::PhaseTiming::kSampled}) {
      const auto with = [&](auto& request) {
        request.spec.optimizer = optimizer;
        request.phases = phases;
        request.resume = false;
      };
      const auto few = trained(2, with, 34), many = trained(2, with, 50);
      // Of the other 16 steps one is sampled, at the ends of whose phases nobody waits either. Two
      // ranks; one may find that the other has waited for both, in some steps of either run.
      EXPECT_LE(many.waits - few.waits, 2 * 2 * 16 + 8) << record::name_of(optimizer);
    }
  }
}

}  // namespace
}  // namespace lockstep::train
