#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command_line/command_fixture.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text/quantities.h"
#include "lockstep/record/event.h"
#include "lockstep/store/calibrations.h"
#include "lockstep/store/run_writer.h"

namespace lockstep::cli {
namespace {

struct PredictOutcome : CommandOutcome {
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

class PredictCommand : public CommandTest {
 protected:
  std::string table(const std::string& text) const {
    const std::string path = folder_ + "/table.csv";
    std::ofstream(path) << text;
    return path;
  }

  PredictOutcome run(const std::string& words) const {
    return {CommandTest::run(words, {&add_predict_command, &add_advise_command})};
  }
};

// Epoch times of two of the field studies.
constexpr const char* kSweep =
    "model,device,global_batch,examples,workers,metric,value,unit\n"
    "resnet18-cifar,gpu,32,50000,1,epoch_time,38,s\n"
    "resnet18-cifar,gpu,32,50000,2,epoch_time,67,s\n"
    "resnet18-cifar,gpu,32,50000,4,epoch_time,121,s\n"
    "resnet18-cifar,gpu,512,50000,1,epoch_time,13,s\n"
    "resnet18-cifar,gpu,512,50000,2,epoch_time,9,s\n"
    "resnet18-cifar,gpu,512,50000,4,epoch_time,11,s\n";
constexpr const char* kTransfer =
    "model,device,batch_per_worker,examples,epochs,workers,metric,value,unit\n"
    "transfer,t4,32,30607,30,2,epoch_time,209,s\n"
    "transfer,t4,32,30607,30,4,epoch_time,81,s\n"
    "transfer,v100,32,30607,30,4,epoch_time,80,s\n"
    "transfer,v100,32,30607,30,8,epoch_time,44,s\n"
    "transfer,t4,32,30607,30,2,epochs_to_stable,15,epochs\n"
    "transfer,t4,32,30607,30,4,epochs_to_stable,19,epochs\n"
    "transfer,v100,32,30607,30,8,epochs_to_stable,25,epochs\n";

TEST_F(PredictCommand, HoldsOutTheLargestCountOfEachSeriesAsOneJsonObjectPerLine) {
  const PredictOutcome outcome = run("predict --json --hold-out largest --from " + table(kSweep));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json.at("workers"), 4);
    EXPECT_EQ(json.at("metric"), "epoch_time");
    EXPECT_LT(json.at("low").get<double>(), json.at("predicted").get<double>());
    EXPECT_LT(json.at("predicted").get<double>(), json.at("high").get<double>());
    const double actual = json.at("actual");
    EXPECT_NEAR(actual, count == 0 ? 121 : 11, 1e-9);
    EXPECT_TRUE(json.contains("series"));
  }
  EXPECT_EQ(count, 2);
}

TEST_F(PredictCommand, PredictsTimesSpeedupAndWhatIsNotKnown) {
  const PredictOutcome outcome =
      run("predict --json --workers 16 --device v100 --from " + table(kTransfer));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  const double epoch = json.at("epoch_time_s").at("value");
  EXPECT_GT(epoch, 22);
  EXPECT_LT(epoch, 44);
  EXPECT_NEAR(json.at("total_time_s").at("value"), 30 * epoch, 1e-6);
  EXPECT_NEAR(json.at("throughput_examples_per_s").at("value"), 30607 / epoch, 1e-6);
  EXPECT_FALSE(json.at("interval_because").empty());
  EXPECT_FALSE(json.at("not_identifiable").empty());
}

TEST_F(PredictCommand, TextNamesIntervalAndReason) {
  const PredictOutcome outcome =
      run("predict --workers 16 --device v100 --from " + table(kTransfer));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find(" to "), std::string::npos);
  EXPECT_NE(outcome.out.find("hosts"), std::string::npos);
}

TEST_F(PredictCommand, CarriesTimesToAnotherDevice) {
  const PredictOutcome outcome =
      run("predict --json --device t4 --measured v100 --network dcgan --batch 256");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NEAR(outcome.json().at("time_ratio").at("value"), 2.746, 0.2746);
  EXPECT_EQ(run("predict --device abacus --measured v100 --network dcgan").code, 2);
  EXPECT_EQ(run("predict --device t4 --measured v100").code, 2);
}

TEST_F(PredictCommand, BacktestPrintsErrorsBesideTheClassics) {
  const PredictOutcome outcome = run("predict --json --backtest " + table(kSweep));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json().at("shipped_prior");
  EXPECT_EQ(json.at("series"), 2);
  for (const char* name : {"lockstep", "perfect", "amdahl", "ernest", "goodput"}) {
    EXPECT_GE(json.at(name).at("median").get<double>(), 0) << name;
  }
}

TEST_F(PredictCommand, PredictsTwiceAndFourTimesTheLargestCountByDefault) {
  const PredictOutcome outcome = run("predict --json --from " + table(kSweep));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, run("predict --json --workers 8,16 --from " + table(kSweep)).out);
}

TEST_F(PredictCommand, ErrorsStateWhatIsMissing) {
  EXPECT_EQ(run("predict --workers 4 --from /nonexistent.csv").code, 4);
  EXPECT_EQ(run("predict --workers 4 --series-column absent --from " + table(kSweep)).code, 4);
  const PredictOutcome losses = run("predict --workers 4 --from " +
                                    table("model,workers,metric,value\nnet,1,val_loss,0.5\n"));
  EXPECT_EQ(losses.code, 4);
  EXPECT_NE(losses.err.find("hint:"), std::string::npos);
}

TEST_F(PredictCommand, AdviceNamesChoiceReasonsAndNextRun) {
  const PredictOutcome outcome =
      run("advise --json --deadline 1h --price t4=0.35/h,v100=2.48/h --max-workers 8 --from " +
          table(kTransfer));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = outcome.json();
  EXPECT_EQ(json.at("use").at("device"), "t4");
  EXPECT_TRUE(json.at("feasible"));
  EXPECT_FALSE(json.at("why").empty());
  EXPECT_TRUE(json.contains("next_run"));
  EXPECT_EQ(run("advise --price t4=0.35/h --from " + table(kTransfer)).code, 2);
}

TEST_F(PredictCommand, AdvisesForEachModelOfATable) {
  const std::string both =
      table(std::string(kTransfer) + "fruit,t4,32,1000,30,1,epoch_time,20,s\n");
  const PredictOutcome outcome = run("advise --json --from " + both);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  // One answer per model, each from the measurements of that model alone.
  EXPECT_NE(outcome.out.find("transfer, t4"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("fruit, t4"), std::string::npos) << outcome.out;
  EXPECT_EQ(run("advise --json --model fruit --from " + both).code, 0);
  EXPECT_EQ(run("advise --json --model absent --from " + both).code, 4);
}

TEST_F(PredictCommand, AdviceToATargetCountsTheEpochsThatLargerBatchesNeed) {
  const PredictOutcome outcome =
      run("advise --json --target val_accuracy=0.65 --max-workers 8 --from " + table(kTransfer));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json().at("time"), "to the target");
  EXPECT_FALSE(outcome.json().at("notes").empty());
}

TEST_F(PredictCommand, ATargetThatNoRunReachedIsNamedWithTheBestThatWas) {
  const std::string path =
      table(std::string(kTransfer) + "transfer,t4,32,30607,30,2,val_accuracy,0.6888,\n");
  EXPECT_EQ(run("advise --json --target val_accuracy=0.65 --from " + path).code, 0);
  const PredictOutcome outcome = run("advise --json --target val_accuracy=0.99 --from " + path);
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("the best was 0.6888"), std::string::npos) << outcome.err;
}

TEST_F(PredictCommand, AStudyOfTheStoreAndATableAreNotAskedForAtOnce) {
  const PredictOutcome outcome = run("predict --workers 4 --study s --from " + table(kSweep));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--study"), std::string::npos);
}

TEST(Quantities, DurationsPricesAndTargets) {
  EXPECT_EQ(parse_duration("2h", "--deadline"), 7200);
  EXPECT_EQ(parse_duration("1.5 min", "--deadline"), 90);
  EXPECT_EQ(parse_duration("30", "--deadline"), 30);
  for (const char* bad : {"", "h", "-2h", "2 parsecs", "nan", "0"}) {
    EXPECT_THROW(parse_duration(bad, "--deadline"), Error) << bad;
  }
  EXPECT_EQ(parse_prices({"v100=2.48/h", "t4=0.35"}).at("t4"), 0.35);
  for (const char* bad : {"v100", "=3", "v100=", "v100=2/day", "v100=-1"}) {
    EXPECT_THROW(parse_prices({bad}), Error) << bad;
  }
  EXPECT_NEAR(parse_link("30us,4GB/s").latency_s, 30e-6, 1e-12);
  EXPECT_NEAR(parse_link("1ms,25Gbit/s").bytes_per_s, 3.125e9, 1);
  EXPECT_NEAR(parse_link("1us,25Gbps").bytes_per_s, 3.125e9, 1);
  EXPECT_NEAR(parse_link("1us,100 Mb/s").bytes_per_s, 12.5e6, 1e-3);
  for (const char* bad : {"", "30us", "30us,", "30,4", "us,GB/s", "-1us,4GB/s", "1us,4GB/s,2"}) {
    EXPECT_THROW(parse_link(bad), Error) << bad;
  }
  EXPECT_TRUE(parse_target("val_accuracy=0.9").reached_by(0.91));
  EXPECT_TRUE(parse_target("val_loss=0.3").reached_by(0.2));
  for (const char* bad : {"val_accuracy", "height=3", "val_accuracy=high", "", "val_accuracy=90"}) {
    EXPECT_THROW(parse_target(bad), Error) << bad;
  }
}

TEST_F(PredictCommand, AcceptsProcessorsThatWereCalibrated) {
  for (const int threads : {1, 2}) {
    record::DeviceCalibration device;
    device.machine.host = "box";
    device.device = "cpu";
    device.threads = threads;
    device.flops = 95e9 * threads;
    device.bytes_per_s = 23e9 * threads;
    store::add_calibration(folder_ + "/lockstep.db", device);
  }
  const auto at = [&](const std::string& measured) {
    return run("--json predict --device t4 --network fashion --batch 128 --measured " + measured);
  };
  const PredictOutcome most = at("cpu");
  ASSERT_EQ(most.code, 0) << most.err;
  EXPECT_EQ(most.json()["measured_device"], "cpu:2");
  EXPECT_LT(most.json()["time_ratio"]["value"], 0.2);
  const PredictOutcome one = at("box:1");
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_NEAR(one.json()["time_ratio"]["value"].get<double>(),
              most.json()["time_ratio"]["value"].get<double>() / 2, 1e-9);
  const PredictOutcome none = at("cpu:7");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("lockstep bench device"), std::string::npos);
}

/// On one host of two cores.
void add_run_of_two_cores(const std::string& store, int workers, double epoch_s, int batch = 32,
                          double accuracy = record::kUnknown) {
  store::RunWriter writer(store, {"s", "cell", 0});
  record::RunStarted start;
  start.spec.recipe = "fashion";
  start.spec.data = {"fashion-mnist", "/data", false, 60'000, 10'000};
  start.spec.device = "cpu";
  start.spec.workers = workers;
  start.spec.threads_per_worker = 1;
  start.spec.batch_per_worker = batch;
  start.spec.epochs = 3;
  start.machine.host = "box";
  start.machine.cores = 2;
  writer.write(start);
  for (int number = 1; number <= 3; ++number) {
    record::EpochResult epoch;
    epoch.epoch = number;
    epoch.train_s = epoch_s;
    epoch.examples = 60'000;
    epoch.examples_per_s = 60'000 / epoch_s;
    epoch.val_accuracy = accuracy;
    writer.write(epoch);
  }
  writer.write(record::RunEnded{record::RunStatus::kDone, 1, 3 * epoch_s, 0, ""});
}

TEST_F(PredictCommand, AdviceOnRunsMarksWhatTheirHostHasNoRoomFor) {
  add_run_of_two_cores(store(), 1, 10);
  add_run_of_two_cores(store(), 2, 5.2);
  const auto most_considered = [](const PredictOutcome& outcome) {
    const nlohmann::json advice = outcome.json();
    double most = 0;
    for (const auto& one : advice["candidates"]) {
      most = std::max(most, one["workers"].get<double>());
    }
    return most;
  };
  const PredictOutcome usual = run("--json advise");
  ASSERT_EQ(usual.code, 0) << usual.err;
  EXPECT_EQ(usual.json()["use"]["workers"], 2);
  EXPECT_EQ(usual.json()["room"], 2);
  EXPECT_TRUE(usual.json()["next_run"].is_null());
  EXPECT_NE(usual.out.find("but the host has room for 2"), std::string::npos);
  const PredictOutcome more = run("--json advise --max-workers 8");
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_EQ(most_considered(more), 8);
}

TEST_F(PredictCommand, ABatchThatLearnedLessIsNamedAndPassedOver) {
  add_run_of_two_cores(store(), 1, 10, 32, 0.91);
  add_run_of_two_cores(store(), 1, 4, 512, 0.81);
  const PredictOutcome outcome = run("--json advise");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.json()["use"]["series"].get<std::string>().find("b 32"), std::string::npos);
  EXPECT_NE(outcome.json()["learned_less"]["series"].get<std::string>().find("b 512"),
            std::string::npos);
  const PredictOutcome target = run("--json advise --target val_accuracy=0.9");
  ASSERT_EQ(target.code, 0) << target.err;
  EXPECT_TRUE(target.json()["learned_less"].is_null());
}

TEST_F(PredictCommand, DoesNotAdviseABatchWhoseRunsMissedTheTarget) {
  // The large batch is faster per epoch, and after as many epochs it is not there.
  add_run_of_two_cores(store(), 1, 10, 32, 0.91);
  add_run_of_two_cores(store(), 2, 6, 32, 0.905);
  add_run_of_two_cores(store(), 1, 8, 512, 0.85);
  add_run_of_two_cores(store(), 2, 4, 512, 0.81);
  const PredictOutcome outcome = run("--json advise --target val_accuracy=0.9");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json advice = outcome.json();
  for (const nlohmann::json& candidate : advice["candidates"]) {
    EXPECT_NE(candidate["series"].get<std::string>().find("b 32"), std::string::npos) << candidate;
  }
  EXPECT_NE(advice["use"]["series"].get<std::string>().find("b 32"), std::string::npos);
  EXPECT_NE(outcome.out.find("global batches of 512 and more are left out"), std::string::npos);
  // Without a target it is passed over as well: it learned less in as many epochs.
  EXPECT_NE(run("--json advise").json()["use"]["series"].get<std::string>().find("b 32"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::cli
