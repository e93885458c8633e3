#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lockstep/collect/stored_runs.h"
#include "lockstep/report/page/page_fixture.h"

namespace lockstep::report {
namespace {

using nlohmann::json;

/// 2 workers are 1.44x as fast: the least time x cost, yet less than half of what they could gain.
TEST(JobAdvice, AdvisesNoCountThatTheVerdictFindsNotToPay) {
  analyze::MeasurementRows rows;
  rows.at_global(1, 32, "epoch_time", 13).at_global(2, 32, "epoch_time", 9);
  const json page = page_json(build_page(source_of(rows)));
  EXPECT_EQ(page["advice"][0]["workers"], 1);
  const auto headline = page["headline"].get<std::string>();
  EXPECT_EQ(headline.rfind("Use 1 worker: 13.0 s for one epoch (measured)", 0), 0u) << headline;
  EXPECT_NE(headline.find("2 would be 1.44x as fast for 1.38x the device-hours"), std::string::npos)
      << headline;
  EXPECT_NE(view(page, "decision")["notes"].dump().find("gave 44 % of the ideal gain"),
            std::string::npos)
      << view(page, "decision")["notes"];
}

/// A prediction beyond the largest measured count is shown, not advised.
TEST(JobAdvice, AdvisesMeasuredCountsWhereTheVerdictNamesOne) {
  analyze::MeasurementRows rows;
  rows.at_global(2, 64, "epoch_time", 200).at_global(4, 64, "epoch_time", 80);
  const json page = page_json(build_page(source_of(rows)));
  EXPECT_EQ(page["advice"][0]["workers"], 4);
  EXPECT_EQ(page["advice"][0]["origin"], "measured");
}

/// b = 512 is faster, but ends 8 points below b = 32 after as many epochs.
TEST(JobAdvice, AdvisesTheFasterBatchOnlyWhereItLearnsAsWell) {
  const auto page_with = [](double accuracy) {
    analyze::MeasurementRows rows;
    rows.at_local(1, 32, "epoch_time", 20).at_local(2, 32, "epoch_time", 11);
    rows.at_local(1, 512, "epoch_time", 16).at_local(2, 512, "epoch_time", 8.2);
    rows.at_local(2, 32, "val_accuracy", 0.90).at_local(2, 512, "val_accuracy", accuracy);
    return page_json(build_page(source_of(rows)));
  };
  const json worse = page_with(0.82);
  EXPECT_EQ(worse["advice"][0]["series"], "b = 32");
  EXPECT_EQ(worse["advice"][0]["quality_means"], "validation accuracy");
  EXPECT_EQ(worse["advice"][0]["quality"], 0.9);
  EXPECT_NE(worse["headline"].get<std::string>().find("validation accuracy 0.9;"),
            std::string::npos)
      << worse["headline"];
  const std::string notes = view(worse, "decision")["notes"].dump();
  EXPECT_NE(notes.find("it learned less in the same number of epochs: 2 workers, b = 512: 8.20 s"),
            std::string::npos)
      << notes;
  EXPECT_EQ(notes.find("4 workers, b = 512"), std::string::npos) << notes;

  const json as_good = page_with(0.895);
  EXPECT_EQ(as_good["advice"][0]["series"], "b = 512");
  EXPECT_EQ(view(as_good, "decision")["notes"].dump().find("learned less"), std::string::npos);
}

TEST(JobAdvice, NamesTheCountThatLearnedBetterThanTheOneThatPays) {
  analyze::MeasurementRows rows;
  rows.at_local(1, 32, "epoch_time", 20).at_local(2, 32, "epoch_time", 10);
  rows.at_local(1, 32, "val_loss", 0.2).at_local(2, 32, "val_loss", 0.3);
  const json page = page_json(build_page(source_of(rows)));
  EXPECT_EQ(page["advice"][0]["workers"], 2);
  EXPECT_EQ(page["advice"][0]["quality"], 0.3);
  EXPECT_NE(view(page, "decision")["notes"].dump().find("learn better: 1 worker"),
            std::string::npos)
      << view(page, "decision")["notes"];
}

/// Predicted counts are not advised before a measured one, be it the only one.
TEST(JobAdvice, ShowsWhyShortRunsOfFewerWorkersTookLessInAll) {
  analyze::MeasurementRows rows;
  rows.at_global(1, 64, "epoch_time", 9).at_global(2, 64, "epoch_time", 3);
  rows.at_global(1, 64, "total_time", 44).at_global(2, 64, "total_time", 48);
  for (record::Measurement& row : rows.rows) row.epochs = 2;
  const json page = page_json(build_page(source_of(rows)));
  const std::string notes = view(page, "decision")["notes"].dump();
  EXPECT_NE(notes.find("\"1 worker took less time in total (44.0 s)"), std::string::npos) << notes;
  EXPECT_EQ(notes.find("differ in their global batch"), std::string::npos) << notes;
}

TEST(JobAdvice, AdvisesTheOnlyCountThatWasRun) {
  analyze::MeasurementRows rows;
  rows.at_local(1, 32, "epoch_time", 20);
  const json page = page_json(build_page(source_of(rows)));
  EXPECT_EQ(page["advice"][0]["workers"], 1);
  EXPECT_EQ(page["advice"][0]["origin"], "measured");
}

TEST(JobAdvice, ReportsThatTheHostHasNoRoomForMore) {
  analyze::MeasurementRows rows;
  rows.at_local(1, 32, "epoch_time", 20).at_local(2, 32, "epoch_time", 10.5);
  PageSource source = source_of(rows);
  RunDigest digest;
  digest.run.started.spec.recipe = rows.rows.front().model;
  digest.run.started.spec.workers = 2;
  digest.run.started.machine.cores = 3;
  source.runs.push_back(digest);
  source.options.rooms = collect::host_rooms(source.runs);
  const json page = page_json(build_page(source));
  EXPECT_NE(page["headline"].get<std::string>().find("4 would be"), std::string::npos);
  EXPECT_NE(page["headline"].get<std::string>().find(", but the host has room for 3."),
            std::string::npos)
      << page["headline"];
  const json& chart = view(page, "decision")["charts"][0];
  EXPECT_EQ(chart["marks"][1]["at"], 3);
  const std::string notes = view(page, "decision")["notes"].dump();
  EXPECT_EQ(notes.find("The run to make next: 4"), std::string::npos) << notes;

  // The size of a cluster does not follow from the runs on it.
  source.runs.front().run.started.spec.launcher = record::Launcher::kSlurm;
  source.options.rooms = collect::host_rooms(source.runs);
  const json cluster = page_json(build_page(source));
  EXPECT_EQ(cluster["headline"].get<std::string>().find("room"), std::string::npos);
}

/// Two processors of one name that differ in a column of their own.
TEST(JobAdvice, LabelsSeriesByTheColumnInWhichTheyDiffer) {
  analyze::MeasurementRows rows;
  rows.at_global(1, 32, "epoch_time", 40).at_global(1, 32, "epoch_time", 10);
  rows.rows[0].notes["cpus"] = "2";
  rows.rows[1].notes["cpus"] = "16";
  const json page = page_json(build_page(source_of(rows)));
  EXPECT_EQ(page["advice"][0]["series"], "cpus=16");
}

}  // namespace
}  // namespace lockstep::report
