#include "lockstep/collect/measured_step.h"

#include "lockstep/base/error.h"
#include "lockstep/store/calibrations.h"
#include "lockstep/store/imports.h"
#include "lockstep/store/run_writer.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::collect {
namespace {

using record::Phase;

class MeasuredStep : public store::StoreTest {
 protected:
  /// Rank 0 computes 9 ms, rank 1 11 ms and keeps it waiting; two micro-steps each.
  void write_run(int ranks, std::int64_t steps) const {
    record::RunStarted started = store::started(ranks, 32);
    started.machine.host = "node1";
    started.machine.cores = 4;
    started.spec.device = "cpu";
    started.spec.threads_per_worker = 1;
    started.spec.accumulate = 2;
    started.spec.parameters = 1'000'000;
    started.spec.wire = record::Wire::kHalf;
    store::RunWriter writer(path(), {"", "", 0});
    writer.write(started);
    record::StepBlock block;
    for (std::int64_t step = 0; step < steps; ++step) {
      for (int rank = 0; rank < ranks; ++rank) {
        record::StepTimes times;
        times.rank = rank;
        times.step = step;
        times.total_s = 0.012;
        times[Phase::kForward] = 0.004;
        times[Phase::kBackward] = rank == 0 ? 0.004 : 0.006;
        times[Phase::kOptimizer] = 0.001;
        times[Phase::kWait] = rank == 0 ? 0.002 : 0;
        times[Phase::kTransfer] = 0.001;
        block.steps.push_back(times);
      }
    }
    if (steps > 0) writer.write(block);
    writer.write(record::RunEnded{record::RunStatus::kDone, 1, 10, 0, ""});
  }
};

TEST_F(MeasuredStep, LeavesCommunicationOut) {
  write_run(2, 60);
  store::Store store(path());
  const simulate::StepSource source = measured_step(store, 1);
  EXPECT_NEAR(source.shape.forward_s, 0.002, 1e-9);  // of one micro-step
  EXPECT_NEAR(source.shape.backward_s, 0.0025, 1e-9);
  EXPECT_NEAR(source.shape.other_s, 0.001, 1e-9);
  EXPECT_EQ(source.shape.accumulate, 2);
  EXPECT_EQ(source.shape.batch_per_worker, 32);
  EXPECT_EQ(source.gradient_bytes, 4e6);
  EXPECT_TRUE(source.half_wire);
  EXPECT_TRUE(source.text.ends_with("2 workers, 12.0 ms each with communication")) << source.text;
  EXPECT_EQ(source.jitter.samples(), 100u);  // 50 steps after the warm-up, two ranks
  EXPECT_NEAR(source.jitter.largest() / source.jitter.smallest(), 11.0 / 9, 1e-6);
}

// Two of four cores were in use: four workers on one machine share memory bandwidth, eight also
// the cores.
TEST_F(MeasuredStep, KnowsWhatSharedCoresCost) {
  write_run(2, 60);
  record::DeviceCalibration device;
  device.machine.host = "node1";
  for (const auto& [threads, flops, bytes] :
       {std::tuple(1, 10e9, 10e9), {2, 20e9, 16e9}, {4, 40e9, 20e9}}) {
    device.threads = threads;
    device.flops = flops;
    device.bytes_per_s = bytes;
    store::add_calibration(path(), device);
  }
  store::Store store(path());
  const simulate::StepSource source = measured_step(store, 1);
  ASSERT_TRUE(source.sharing);
  const simulate::SharedCores own = source.sharing({.workers = 8, .hosts = 4, .machines = 4});
  EXPECT_EQ(own.compute.value, 1) << "as measured";
  EXPECT_TRUE(own.spare_core);
  const simulate::SharedCores full = source.sharing({.workers = 4, .hosts = 1, .machines = 1});
  EXPECT_EQ(full.cores, 4);
  EXPECT_FALSE(full.spare_core);
  EXPECT_EQ(full.compute.low, 1);
  EXPECT_NEAR(full.compute.high, (4 * 10 / 20.0) / (2 * 10 / 16.0), 1e-9);
  const simulate::SharedCores twice = source.sharing({.workers = 8, .hosts = 4, .machines = 1});
  EXPECT_NEAR(twice.compute.low, 2, 1e-9);
  EXPECT_NEAR(twice.compute.high, (8 * 10 / 20.0) / (2 * 10 / 16.0), 1e-9);
}

// Of sums between two hosts: the longer of latency and transfer decides, for those two as before.
TEST_F(MeasuredStep, HidesTheLatencyOfACalibratedLink) {
  write_run(2, 60);
  record::LinkCalibration link;
  link.machine.host = "node1";
  link.backend = record::Backend::kGloo;
  link.workers = link.nodes = 2;
  for (const std::int64_t bytes : {10'000, 100'000, 1'000'000, 10'000'000}) {
    link.points.push_back({bytes, 2 * (1e-3 + static_cast<double>(bytes) / 2 / 1e8)});
  }
  link.alpha_s = 1e-3;
  link.bytes_per_s = 1e8;
  store::add_calibration(path(), link);
  store::Store store(path());
  const simulate::MeasuredLink between = measured_step(store, 1).between;
  ASSERT_TRUE(between.speed.hides_latency);
  // 4 MB of gradients on the two hosts that were measured, and on four.
  EXPECT_NEAR(between.speed.seconds(2e6) / (1e-3 + 2e6 / 1e8), 1, 1e-3);
  EXPECT_LT(between.speed.seconds(1e6), 1e-3 + 1e6 / 1e8);
}

// A trace of one of 128 ranks: the parts of a step are those of the run.
TEST_F(MeasuredStep, TakesThePartsOfAnImportedTrace) {
  store::ImportedRecord run;
  run.source = {"digest", "", "trace.json", "kineto"};
  run.started = store::started(128, 0);
  run.ended = record::RunEnded{record::RunStatus::kDone, 1, 1.2, 0, ""};
  for (std::int64_t step = 0; step < 2; ++step) {
    record::StepTimes times;
    times.step = step;
    times.total_s = 0.6;
    times[Phase::kOther] = 0.6;
    run.steps.steps.push_back(times);
  }
  for (const auto& [metric, value] : {std::pair("compute_time", 0.3), {"other_time", 0.1}}) {
    record::Measurement row;
    row.model = "kineto";
    row.metric = metric;
    row.value = value;
    run.measurements.push_back(row);
  }
  store::add_imports(path(), std::span(&run, 1));
  store::Store store(path());
  const simulate::StepSource source = measured_step(store, 1);
  EXPECT_NEAR(source.shape.forward_s, 0.1, 1e-12);
  EXPECT_NEAR(source.shape.backward_s, 0.2, 1e-12);
  EXPECT_NEAR(source.shape.other_s, 0.1, 1e-12);
  EXPECT_TRUE(source.jitter.none());
  EXPECT_FALSE(source.sharing);
  EXPECT_NE(source.text.find("2 steps of 128 workers"), std::string::npos) << source.text;
}

TEST_F(MeasuredStep, OfARunWithoutStepsIsRefused) {
  write_run(1, 0);
  store::Store store(path());
  EXPECT_THROW(measured_step(store, 1), Error);
  EXPECT_THROW(measured_step(store, 7), Error);
}

}  // namespace
}  // namespace lockstep::collect
