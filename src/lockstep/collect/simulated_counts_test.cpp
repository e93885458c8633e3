#include "lockstep/collect/simulated_counts.h"

#include "lockstep/base/error.h"
#include "lockstep/store/run_writer.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::collect {
namespace {

using record::Phase;

/// Runs of 1 and 2 workers whose steps take 100 ms, half of it backward.
class SimulatedCountsTest : public store::StoreTest {
 protected:
  void write_run(int ranks, bool steps) const {
    record::RunStarted started = store::started(ranks, 32);
    started.spec.parameters = 1'000'000;
    started.spec.data.train_examples = 6400;
    store::RunWriter writer(path(), {"", "", 0});
    writer.write(started);
    record::StepBlock block;
    for (std::int64_t step = 0; steps && step < 40; ++step) {
      for (int rank = 0; rank < ranks; ++rank) {
        record::StepTimes times;
        times.rank = rank;
        times.step = step;
        times.total_s = 0.1;
        times[Phase::kForward] = 0.05;
        times[Phase::kBackward] = 0.05;
        block.steps.push_back(times);
      }
    }
    if (steps) writer.write(block);
    for (const int number : {1, 2}) {
      record::EpochResult epoch;
      epoch.epoch = number;
      epoch.examples = 6400;
      epoch.train_s = 20.0 / ranks;
      epoch.examples_per_s = 320.0 * ranks;
      writer.write(epoch);
    }
    writer.write(record::RunEnded{record::RunStatus::kDone, 1, 20.0 / ranks, 0, ""});
  }

  StoredRuns runs() const {
    store::Store store(path());
    return measured_runs(store, {});
  }
};

// 4 MB over 1 GB/s: far less than backward hides, so four workers do twice the work of two.
TEST_F(SimulatedCountsTest, ContinueTheMeasuredRate) {
  write_run(1, true);
  write_run(2, true);
  const StoredRuns found = runs();
  const auto series = predict::job_series(found.rows, predict::RowsFrom::kStore);
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(largest_run(found.rows, series[0]), 2);
  store::Store store(path());
  SimulatedCounts counts(store, found.rows, series, {{"link", "1GB/s,1us"}}, {});
  const auto rate = counts.rate(series[0], 4);
  ASSERT_TRUE(rate);
  EXPECT_NEAR(rate->value / series[0].series.points.back().rate, 2, 0.2);
  EXPECT_LT(rate->low, rate->value);
  EXPECT_GT(rate->high, rate->value);
  EXPECT_EQ(counts.rate(series[0], 4)->value, rate->value);
  ASSERT_EQ(counts.notes().size(), 1u);
  EXPECT_NE(counts.notes()[0].find("run 2"), std::string::npos) << counts.notes()[0];
  EXPECT_NE(counts.notes()[0].find("a device of its own"), std::string::npos) << counts.notes()[0];
}

TEST_F(SimulatedCountsTest, NameWorkersThatShareTheCoresOfTheirHost) {
  write_run(2, true);
  const StoredRuns found = runs();
  const auto series = predict::job_series(found.rows, predict::RowsFrom::kStore);
  store::Store store(path());
  const auto note = [&](const simulate::Settings& settings) {
    return SimulatedCounts(store, found.rows, series, settings, {}).notes().at(0);
  };
  const std::string shared = note({{"per-host", "2"}});
  EXPECT_NE(shared.find("2 workers on each host sharing its cores"), std::string::npos) << shared;
  const std::string machine = note({{"machines", "1"}});
  EXPECT_NE(machine.find("of a machine sharing its cores"), std::string::npos) << machine;
}

TEST_F(SimulatedCountsTest, NeedARunWithRecordedSteps) {
  write_run(1, false);
  write_run(2, false);
  const StoredRuns found = runs();
  const auto series = predict::job_series(found.rows, predict::RowsFrom::kStore);
  store::Store store(path());
  EXPECT_THROW(SimulatedCounts(store, found.rows, series, {}, {}), Error);
}

}  // namespace
}  // namespace lockstep::collect
