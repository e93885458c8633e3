#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "command_line/command_fixture.h"
#include "lockstep/store/imports.h"
#include "lockstep/store/store.h"

namespace lockstep::cli {
namespace {

using Outcome = CommandOutcome;

class ImportCommand : public CommandTest {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    return own_.write(name, text);
  }

  Outcome run(const std::vector<std::string>& arguments) const {
    return CommandTest::run(arguments,
                            {&add_import_command, &add_export_command, &add_audit_command,
                             &add_report_command, &add_predict_command});
  }

  std::size_t stored() const { return store::Store(store()).runs().size(); }

  static std::string keras(int seconds) {
    return "Epoch 1/2\n - " + std::to_string(seconds) +
           "s - loss: 1.0 - val_acc: 0.5\nEpoch 2/2\n - " + std::to_string(seconds) +
           "s - loss: 0.5 - val_acc: 0.75\n";
  }
};

TEST_F(ImportCommand, SeveralLogsBecomeOneStudy) {
  const Outcome outcome = run({"import", "--study", "resnet", file("exp_1g.log", keras(40)),
                               file("exp_2g.log", keras(22)), file("exp_4g.log", keras(12))});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("3 runs added"), std::string::npos);
  const auto runs = store::Store(store()).runs({.study = "resnet"});
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[2].spec.workers, 4);
  EXPECT_EQ(runs[2].epochs_done, 2);
  EXPECT_DOUBLE_EQ(runs[2].train_s, 24);
  EXPECT_EQ(store::Store(store()).imported_measurements().size(), 3u * 2 * 3);
}

TEST_F(ImportCommand, ImportingAgainAddsNothing) {
  const std::string log = file("exp_2g.log", keras(22));
  EXPECT_EQ(run({"import", log}).code, 0);
  const Outcome again = run({"import", log});
  EXPECT_EQ(again.code, 0);
  EXPECT_NE(again.out.find("0 runs added"), std::string::npos);
  EXPECT_NE(again.out.find("1 already imported"), std::string::npos);
  EXPECT_EQ(stored(), 1u);
}

TEST_F(ImportCommand, StudyAsksForTheWorkerCountThatALogLacks) {
  const std::string known = file("exp_2g.log", keras(22));
  const std::string unknown = file("mystery.log", keras(40));
  const Outcome outcome = run({"import", "--study", "s", known, unknown});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("mystery.log is neither in the log nor in its name"),
            std::string::npos);
  EXPECT_NE(outcome.err.find("--set workers=N"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(store()));
  EXPECT_EQ(run({"import", "--study", "s", unknown, "--set", "workers=1"}).code, 0);
}

TEST_F(ImportCommand, WithoutAStudyTheMissingCountIsNamed) {
  const Outcome outcome = run({"import", file("mystery.log", keras(40)), "--json"});
  EXPECT_EQ(outcome.code, 0);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["added"], 1);
  EXPECT_EQ(json["files"][0]["runs"][0]["missing"][0], "workers: set it with --set workers=N");
  EXPECT_EQ(store::Store(store()).runs()[0].spec.workers, 0);
}

TEST_F(ImportCommand, BadFileIsReportedAndTheOthersKept) {
  const Outcome outcome = run(
      {"import", file("exp_2g.log", keras(22)), file("noise.bin", std::string("\x01\x00\x02", 3))});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("noise.bin is binary (a zero at byte 1)"), std::string::npos);
  EXPECT_EQ(stored(), 1u);
}

TEST_F(ImportCommand, FolderSkipsWhatItDoesNotRecognise) {
  file("logs/a/exp_2g.log", keras(22));
  file("logs/README.md", "# Logs\n");
  file("logs/.hidden", "x");
  const Outcome outcome = run({"import", folder_ + "/logs"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("skipped: "), std::string::npos);
  EXPECT_EQ(outcome.err.find("hidden"), std::string::npos);
  EXPECT_EQ(stored(), 1u);
}

TEST_F(ImportCommand, PatternsOfNamesAreExpanded) {
  file("x_1g.log", keras(40));
  file("x_2g.log", keras(22));
  EXPECT_EQ(run({"import", folder_ + "/x_*.log"}).code, 0);
  EXPECT_EQ(stored(), 2u);
  EXPECT_EQ(run({"import", folder_ + "/y_*.log"}).code, 4);
  EXPECT_EQ(run({"import", folder_ + "/nothing"}).code, 4);
}

TEST_F(ImportCommand, DryRunStoresNothing) {
  const Outcome outcome = run({"import", "--dry-run", file("exp_2g.log", keras(22))});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("nothing stored"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(ImportCommand, ExplanationIsWrittenAsAPage) {
  const std::string log = file("exp_2g.log", keras(22) + "<script>\n");
  const std::string page = folder_ + "/read.html";
  const Outcome outcome = run({"import", "--explain", "--html", page, log});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::ifstream in(page);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(text.find("epoch 1: "), std::string::npos);
  EXPECT_EQ(text.find("<script>"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(store()));
  EXPECT_EQ(run({"import", "--html", page, log}).code, 2);
  EXPECT_EQ(run({"import", "--explain", "--html", folder_ + "/none/x.html", log}).code, 3);
}

TEST_F(ImportCommand, OptimizersOfTwoFilesAreKeptApart) {
  const auto log = [](const std::string& optimizer) {
    return "Started training using " + optimizer + " optimizer.\nWorld size: 2\nbatch size 32\n" +
           "Epoch 1: loss 1.0 time 10.0s\nEpoch 2: loss 0.5 time 10.0s\n";
  };
  const Outcome outcome = run({"import", "--dry-run", "--json", file("a/net.log", log("SGD")),
                               file("b/net.log", log("Adam"))});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto files = nlohmann::json::parse(outcome.out)["files"];
  EXPECT_NE(files[0]["runs"][0]["facts"]["model"]["value"],
            files[1]["runs"][0]["facts"]["model"]["value"]);
}

TEST_F(ImportCommand, FilesOfAStudyAreKeptApartByWhatTheyStateNotByTheirNames) {
  const auto log = [](const std::string& optimizer, const std::string& seconds) {
    return "Started training using " + optimizer + " optimizer.\nWorld size: 2\nbatch size 32\n" +
           "Epoch 1: loss 1.0 time " + seconds + "s\nEpoch 2: loss 0.5 time " + seconds + "s\n";
  };
  const Outcome outcome =
      run({"import", "--study", "net", "--dry-run", "--json", file("plain.log", log("SGD", "10.0")),
           file("other.log", log("Adam", "10.0"))});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto files = nlohmann::json::parse(outcome.out)["files"];
  EXPECT_NE(files[0]["runs"][0]["facts"]["model"]["value"],
            files[1]["runs"][0]["facts"]["model"]["value"]);
  const Outcome slow = run({"import", "--study", "net", "--dry-run",
                            file("a.log", log("SGD", "10.0")), file("b.log", log("SGD", "50.0"))});
  EXPECT_NE(slow.out.find("it takes 50 s per epoch instead of 10 s"), std::string::npos)
      << slow.out;
}

TEST_F(ImportCommand, FilesThatAreNotComparedAreNamedWithWhatComparesThem) {
  const std::string one = file("baseline_1gpu.log", keras(40));
  const std::string two = file("ddp_2gpus.log", keras(22));
  const Outcome apart = run({"import", one, two});
  EXPECT_NE(apart.out.find("(baseline, ddp) and no worker counts are compared"), std::string::npos)
      << apart.out;
  EXPECT_EQ(run({"report"}).out.find("speedup"), std::string::npos);
  const Outcome joined = run({"import", "--replace", "--set", "model=net", one, two});
  EXPECT_EQ(joined.out.find("are compared"), std::string::npos) << joined.out;
  EXPECT_NE(run({"report", "--scaling", "strong"}).out.find("1.818"), std::string::npos);
}

TEST_F(ImportCommand, ReplacedWithWhatTheUserSets) {
  const std::string log = file("exp.log", keras(22));
  EXPECT_EQ(run({"import", log}).code, 0);
  EXPECT_EQ(run({"import", log, "--replace", "--set", "workers=8", "--set", "batch=32"}).code, 0);
  const auto runs = store::Store(store()).runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].spec.workers, 8);
  EXPECT_EQ(runs[0].spec.batch_per_worker, 32);
}

TEST_F(ImportCommand, WrongUseIsAUsageError) {
  EXPECT_EQ(run({"import"}).code, 2);
  EXPECT_EQ(run({"import", "x", "--set", "workers"}).code, 2);
  EXPECT_EQ(run({"import", "x", "--set", "colour=red"}).code, 2);
  EXPECT_EQ(run({"import", "x", "--as", "word"}).code, 2);
  EXPECT_EQ(run({"import", "--list-formats"}).code, 0);
}

TEST_F(ImportCommand, ExportedEventFileIsReadBack) {
  EXPECT_EQ(run({"import", file("exp_2g.log", keras(22))}).code, 0);
  const Outcome exported = run({"export", "1", "--to", "tensorboard", "-o", folder_ + "/tb"});
  EXPECT_EQ(exported.code, 0) << exported.err;
  const Outcome outcome = run({"import", folder_ + "/tb", "--json"});
  const auto json = nlohmann::json::parse(outcome.out);
  const auto& run_json = json["files"][0]["runs"][0];
  EXPECT_EQ(run_json["format"], "tensorboard");
  ASSERT_EQ(run_json["epochs"].size(), 2u);
  EXPECT_EQ(run_json["epochs"][1]["val_accuracy"], 0.75);
  EXPECT_EQ(run_json["epochs"][1]["train_s"], 22);
}

TEST_F(ImportCommand, ExportsTablesEventsAndTraces) {
  EXPECT_EQ(run({"import", file("exp_2g.log", keras(22))}).code, 0);
  EXPECT_NE(run({"export", "1", "--to", "csv"}).out.find("epoch_time,22,s"), std::string::npos);
  EXPECT_NE(run({"export", "1", "--to", "jsonl"}).out.find("\"run_ended\""), std::string::npos);
  const auto trace = nlohmann::json::parse(run({"export", "1", "--to", "chrome-trace"}).out);
  ASSERT_EQ(trace["traceEvents"].size(), 3u);
  EXPECT_EQ(trace["traceEvents"][0]["args"]["name"], "epochs");
  EXPECT_EQ(trace["traceEvents"][2]["ts"], 22e6);
  EXPECT_EQ(run({"export", "1", "--to", "word"}).code, 2);
  EXPECT_EQ(run({"export", "9", "--to", "csv"}).code, 4);
  EXPECT_EQ(run({"export", "1", "--to", "tensorboard"}).code, 2);
}

TEST_F(ImportCommand, PredictionReportsWhichFigureItsRunsLack) {
  EXPECT_EQ(run({"import", file("mystery.log", keras(40))}).code, 0);
  const Outcome no_workers = run({"predict", "--workers", "8"});
  EXPECT_EQ(no_workers.code, 4);
  EXPECT_NE(no_workers.err.find("the number of workers of the runs that have a time is unknown"),
            std::string::npos)
      << no_workers.err;
  EXPECT_NE(no_workers.err.find("--set workers=N"), std::string::npos);
}

TEST_F(ImportCommand, PredictionReportsThatNoRunHasATime) {
  EXPECT_EQ(
      run({"import", file("metrics_2g.csv", "epoch,step,val_loss\n0,9,0.5\n1,19,0.4\n")}).code, 0);
  const Outcome outcome = run({"predict", "--workers", "8"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("no run has a time"), std::string::npos) << outcome.err;
}

TEST_F(ImportCommand, ScalingWithoutBatchesIsReportedAsAssumed) {
  EXPECT_EQ(run({"import", "--study", "s", file("e_1g.log", keras(40)), file("e_2g.log", keras(22)),
                 file("e_4g.log", keras(12))})
                .code,
            0);
  const Outcome outcome = run({"predict", "--workers", "8"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("weak scaling assumed"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("unknown: which scaling it is"), std::string::npos);
}

TEST_F(ImportCommand, ImportedTableIsAuditedFromTheStore) {
  const std::string table = file("paper.csv",
                                 "model,workers,batch_per_worker,metric,value,unit\n"
                                 "net,1,32,epoch_time,100,s\nnet,4,32,epoch_time,40,s\n"
                                 "net,4,32,reported_speedup,4,\n");
  EXPECT_EQ(run({"import", table, "--study", "paper"}).code, 0);
  const Outcome outcome = run({"audit", "--study", "paper"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("speedup"), std::string::npos);
  EXPECT_EQ(outcome.out, run({"audit", table}).out);
  EXPECT_EQ(run({"audit", table, "--study", "paper"}).code, 2);
}

TEST_F(ImportCommand, RunOfALossAloneIsReportedWithIt) {
  EXPECT_EQ(run({"import", file("chart.csv",
                                "\"Step\",\"a - train/loss\",\"a - train/loss__MIN\"\n"
                                "0,0.9,0.9\n10,0.25,0.25\n")})
                .code,
            0);
  const Outcome outcome = run({"report"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("0.25"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace lockstep::cli
