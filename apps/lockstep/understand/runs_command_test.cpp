#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command_line/command_fixture.h"
#include "lockstep/record/event.h"
#include "lockstep/store/calibrations.h"
#include "lockstep/store/store.h"

namespace lockstep::cli {
namespace {

using Outcome = CommandOutcome;

class RunsCommand : public CommandTest {
 protected:
  /// `lockstep runs WORDS`.
  Outcome runs(const std::string& words) const { return run("runs " + words, {&add_runs_command}); }

  /// `lockstep export ID --to FORMAT WORDS`.
  Outcome exported(std::int64_t id, const std::string& format,
                   const std::string& words = "") const {
    return run("export " + std::to_string(id) + " --to " + format + " " + words,
               {&add_export_command});
  }

  /// A finished run of two epochs on 2 workers.
  std::int64_t add_run(const std::string& recipe = "fashion", bool finish = true,
                       record::Backend backend = record::Backend::kSharedMemory) const {
    store::RunWriter writer(store());
    record::RunStarted start;
    start.spec.backend = backend;
    start.spec.recipe = recipe;
    start.spec.data = {"fashion-mnist", "/data", false, 60'000, 10'000};
    start.spec.workers = 2;
    start.spec.batch_per_worker = 64;
    start.spec.epochs = 2;
    start.machine.host = "node7";
    start.build.version = "0.1.0";
    start.started_wall_ns = 1'700'000'000'000'000'000;
    writer.write(start);
    record::StepBlock block;
    block.steps.resize(1);
    block.steps[0].total_s = 0.01;
    writer.write(block);
    for (int number = 1; number <= 2; ++number) {
      record::EpochResult epoch;
      epoch.epoch = number;
      epoch.val_accuracy = 0.88 + 0.01 * number;
      epoch.examples = 60'000;
      epoch.train_s = 4;
      epoch.examples_per_s = 15'000;
      writer.write(epoch);
    }
    if (finish) {
      writer.write(
          record::RunEnded{record::RunStatus::kDone, 1'700'000'009'000'000'000, 9.25, 0, "d1"});
    } else {
      writer.write(record::WorkerError{1, "worker", "died of signal 9", "see its log"});
    }
    return writer.run_id();
  }
};

TEST_F(RunsCommand, ListsRunsWithThroughputAccuracyAndStatus) {
  add_run();
  add_run("gan", false);
  const Outcome outcome = runs("");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string header, rule, first, second;
  std::getline(lines, header);
  std::getline(lines, rule);
  std::getline(lines, first);
  std::getline(lines, second);
  for (const char* text :
       {"1", "fashion", "64", "128", "overlap", "2/2", "15,000", "0.9000", "done", "9.25 s"}) {
    EXPECT_NE(first.find(text), std::string::npos) << text << " in " << first;
  }
  EXPECT_NE(second.find("killed"), std::string::npos) << second;
}

TEST_F(RunsCommand, StoresOfTheRemovedTcpBackEndAreStillReported) {
  const std::int64_t id = add_run("fashion", true, record::Backend::kTcp);
  record::LinkCalibration link;
  link.backend = record::Backend::kTcp;
  link.machine.host = "node7";
  link.nodes = 2;
  link.bytes_per_s = link.peak_bus_per_s = 1e8;
  store::add_calibration(store(), link);
  const Outcome shown = runs("show " + std::to_string(id));
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("overlap over tcp"), std::string::npos) << shown.out;
  for (const char* words : {"report", "advise", "bench list", "runs"}) {
    const Outcome outcome = run(
        words, {&add_report_command, &add_advise_command, &add_bench_command, &add_runs_command});
    EXPECT_EQ(outcome.code, 0) << words << ": " << outcome.err;
  }
}

TEST_F(RunsCommand, ListsAsJsonWithFilters) {
  add_run();
  add_run("gan");
  const auto json = nlohmann::json::parse(runs("--recipe gan --json").out);
  ASSERT_EQ(json["rows"].size(), 1u);
  EXPECT_EQ(json["rows"][0]["recipe"], "gan");
  EXPECT_EQ(json["rows"][0]["examples_per_s"], 15000);
  EXPECT_EQ(runs("--status failed").out, "no runs in " + store() + " that match\n");
}

TEST_F(RunsCommand, NamesTheStatusesWhenAnotherIsAskedFor) {
  add_run();
  const Outcome outcome = runs("--status odd");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("killed"), std::string::npos);
}

TEST_F(RunsCommand, ShowsSpecMachineEpochsAndErrors) {
  const std::int64_t id = add_run("fashion", false);
  const Outcome outcome = runs("show " + std::to_string(id));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* text :
       {"run 1: fashion", "killed", "60,000 to train", "b = 64, B = 128", "node7", "lockstep 0.1.0",
        "0.9000", "died of signal 9", "see its log"}) {
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text;
  }
}

TEST_F(RunsCommand, ShowsAsJson) {
  const auto json =
      nlohmann::json::parse(runs("show " + std::to_string(add_run()) + " --json").out);
  EXPECT_EQ(json["spec"]["recipe"], "fashion");
  EXPECT_EQ(json["epochs"].size(), 2u);
  EXPECT_EQ(json["status"], "done");
  EXPECT_DOUBLE_EQ(json["total_s"].get<double>(), 9.25);
}

TEST_F(RunsCommand, UnknownIdNamesTheNearestAndExitsWith4) {
  add_run();
  for (const Outcome& outcome : {runs("show 9"), exported(9, "jsonl"), runs("delete 9 --yes")}) {
    EXPECT_EQ(outcome.code, 4);
    EXPECT_NE(outcome.err.find("no run 9"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("nearest ids are 1"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(runs("show seven").code, 2);
  EXPECT_EQ(runs("show").code, 2);
}

TEST_F(RunsCommand, DeletesOnlyAfterAYes) {
  const std::int64_t id = add_run();
  add_run();
  const std::string words = "delete " + std::to_string(id) + " " + std::to_string(id);
  // Tests may run in a terminal, where the command would ask; an empty stdin is none.
  ASSERT_NE(std::freopen("/dev/null", "r", stdin), nullptr);
  const Outcome refused = runs(words);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--yes"), std::string::npos);
  EXPECT_EQ(store::Store(store()).runs().size(), 2u);
  EXPECT_EQ(runs(words + " --yes --compact").out, "deleted run 1\n");
  EXPECT_EQ(store::Store(store()).runs().size(), 1u);
}

TEST_F(RunsCommand, ExportedEventsMakeTheSameRunAgain) {
  const std::int64_t id = add_run();
  const std::string file = folder_ + "/run.jsonl";
  ASSERT_EQ(exported(id, "jsonl", "-o " + file).code, 0);
  std::ifstream in(file);
  store::RunWriter writer(store());
  for (std::string line; std::getline(in, line);) writer.write(*record::from_line(line));
  const std::string first = exported(1, "jsonl").out;
  EXPECT_EQ(exported(writer.run_id(), "jsonl").out, first);
  EXPECT_NE(first.find("\"steps\""), std::string::npos);
}

TEST_F(RunsCommand, ExportsTheMeasurementsTable) {
  const std::string csv = exported(add_run(), "csv").out;
  EXPECT_TRUE(csv.starts_with("model,dataset,device,nodes,workers,batch_per_worker,")) << csv;
  EXPECT_NE(csv.find("fashion,fashion-mnist,cpu,1,2,64,128,60000,2,epoch_time,4,s,"),
            std::string::npos);
}

TEST_F(RunsCommand, ReportsWhyAnExportCannotBeWritten) {
  const std::int64_t id = add_run();
  const Outcome outcome = exported(id, "jsonl", "-o " + folder_ + "/none/x.json");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("No such file"), std::string::npos) << outcome.err;
  EXPECT_EQ(exported(id, "xml").code, 2);
}

TEST_F(RunsCommand, ReportsThatThereIsNoStore) {
  const Outcome outcome = runs("");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("the store " + store() + " does not exist"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::cli
