#include "lockstep/report/page/page.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lockstep/predict/scaling/classic_models.h"
#include "lockstep/report/page/page_fixture.h"

namespace lockstep::report {
namespace {

using nlohmann::json;

PageSource study() {
  analyze::MeasurementRows rows;
  for (const std::int64_t batch : {32, 512}) {
    rows.at_global(1, batch, "epoch_time", 40)
        .at_global(2, batch, "epoch_time", batch == 32 ? 38 : 22)
        .at_global(4, batch, "epoch_time", batch == 32 ? 37 : 20);
  }
  rows.at_global(1, 8192, "out_of_memory", 1);
  PageSource source = source_of(rows);
  source.title = "a study";
  return source;
}

TEST(Page, OfAStudyHasDecisionSpeedupAndTime) {
  const json page = page_json(build_page(study()));
  EXPECT_EQ(page["format"], "lockstep-page");
  EXPECT_EQ(page["version"], 1);
  EXPECT_FALSE(page["headline"].get<std::string>().empty());
  EXPECT_EQ(page["advice"][0]["workers"], 2);
  EXPECT_EQ(page["advice"][0]["series"], "B = 512");
  for (const char* id : {"decision", "scaling", "time", "batch", "backtest"}) {
    EXPECT_FALSE(view(page, id)["charts"].empty()) << id;
  }
}

TEST(Page, DecisionDistinguishesMeasuredPredictedAndIdealAndMarksTheAdvisedCount) {
  const json page = page_json(build_page(study()));
  const json& chart = view(page, "decision")["charts"][0];
  std::set<std::string> roles;
  for (const json& series : chart["series"]) {
    roles.insert(series["role"]);
    if (series["role"] == "measured" && series["name"] == "B = 512") {
      EXPECT_EQ(series["points"], json::parse("[[1,40],[2,22],[4,20]]"));
      EXPECT_TRUE(series["joined"].get<bool>());
    }
    if (series["role"] == "predicted" && series["name"] == "B = 512") {
      EXPECT_EQ(series["points"].size(), 2u) << "it begins at the last measured point";
      EXPECT_EQ(series["points"].front()[0], 4);
      const json& last = series["points"].back();
      EXPECT_EQ(last[0], 8);
      EXPECT_LT(last[2].get<double>(), last[1].get<double>());
      EXPECT_GT(last[3].get<double>(), last[1].get<double>());
    }
    if (series["role"] == "ideal") {
      EXPECT_EQ(series["points"][2], json::parse("[4,10]"));
    }
  }
  EXPECT_EQ(roles, (std::set<std::string>{"ideal", "limit", "measured", "predicted"}));
  EXPECT_EQ(chart["marks"][0]["at"], 2);
}

TEST(Page, SimulatesMoreWorkersBesideTheMeasuredOnes) {
  analyze::MeasurementRows rows;
  for (const int workers : {1, 2}) rows.at_local(workers, 32, "throughput", 300.0 * workers);
  PageSource source = source_of(rows);
  StepToSimulate simulated;
  simulated.run = 7;
  simulated.step.shape.forward_s = 0.03;
  simulated.step.shape.backward_s = 0.06;
  simulated.step.shape.batch_per_worker = 32;
  simulated.step.gradient_bytes = 100e6;
  simulated.series = predict::job_series(rows.rows, predict::RowsFrom::kStore).front().key;
  source.simulated = simulated;
  const json page = page_json(build_page(source));
  const json& charts = view(page, "simulation")["charts"];
  ASSERT_EQ(charts.size(), 2u);
  std::map<std::string, double> largest;
  for (const json& series : charts[0]["series"]) {
    largest[series["role"]] = series["points"].back()[0].get<double>();
  }
  EXPECT_EQ(largest, (std::map<std::string, double>{
                         {"measured", 2}, {"predicted", 16}, {"simulated", 1024}}));
  EXPECT_EQ(charts[1]["lanes"].back(), "each host's link");
  EXPECT_EQ(view(page_json(build_page(study())), "simulation")["charts"].size(), 0u);
}

TEST(Page, DrawsTheLossOfOneEpochWithinIt) {
  PageSource source;
  RunDigest digest;
  digest.steps.steps = 1000;
  for (int i = 1; i <= 500; ++i) digest.curve.push_back({i / 500.0, 1.0 / i, 100});
  source.runs.push_back(digest);
  const json page = page_json(build_page(source));
  const json& chart = view(page, "learning")["charts"].back();
  EXPECT_EQ(chart["id"], "train_loss-within-epochs");
  const json& points = chart["series"][0]["points"];
  EXPECT_EQ(points.size(), 125u);
  EXPECT_EQ(points[0][0], 0.008);
  EXPECT_NEAR(points[0][1].get<double>(), (1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0) / 4, 1e-5);
}

TEST(Page, ShowsThePredictorBesideTextbookForms) {
  const json page = page_json(build_page(study()));
  const json& tables = view(page, "backtest")["charts"][0]["tables"];
  ASSERT_GE(tables.size(), 2u);
  EXPECT_EQ(tables[1]["title"], "Errors of the predictor and of textbook forms");
  EXPECT_EQ(tables[1]["rows"].size(), 1u + predict::kClassicCount);
}

/// A miss must not have the colour of a hit because there is no hit beside it.
TEST(Page, OfABacktestNamesHitsAndMissesInTheSameOrder) {
  const json page = page_json(build_page(study()));
  const json& series = view(page, "backtest")["charts"][0]["series"];
  EXPECT_EQ(series[0]["name"], "interval covers");
  EXPECT_EQ(series[1]["name"], "interval misses");
}

TEST(Page, OfRunsInProgressHasNoVerdictYet) {
  PageSource source;
  source.listed.emplace_back();
  const json page = page_json(build_page(source));
  EXPECT_EQ(page["headline"], "No verdict yet: no run has finished.");
  EXPECT_TRUE(page["findings"].empty());
}

TEST(Page, DrawsNoLadderOfASingleBatch) {
  analyze::MeasurementRows rows;
  rows.at_local(1, 32, "throughput", 100).at_local(2, 32, "throughput", 190);
  PageSource source;
  source.rows = rows.rows;
  const json page = page_json(build_page(source));
  EXPECT_TRUE(view(page, "batch")["charts"].empty());
  EXPECT_FALSE(view(page, "batch")["tables"].empty());
}

TEST(Page, MarksTheBatchThatDidNotFit) {
  const json page = page_json(build_page(study()));
  const json& chart = view(page, "batch")["charts"][0];
  ASSERT_EQ(chart["marks"].size(), 1u);
  EXPECT_EQ(chart["marks"][0]["at"], 8192);
}

TEST(Page, GivesErrorBarsWhereThereAreRepeats) {
  analyze::MeasurementRows rows;
  rows.at_local(1, 32, "throughput", 100).at_local(1, 32, "throughput", 110);
  rows.at_local(2, 32, "throughput", 200).at_local(2, 32, "throughput", 180);
  PageSource source;
  source.rows = rows.rows;
  const json page = page_json(build_page(source));
  const json& chart = view(page, "scaling")["charts"][0];
  for (const json& series : chart["series"]) {
    if (series["role"] != "measured") continue;
    const json& two = series["points"][1];
    EXPECT_LT(two[2].get<double>(), two[1].get<double>());
    EXPECT_GT(two[3].get<double>(), two[1].get<double>());
  }
}

/// 4 t4 over 2 and 8 v100 over 4: two speedups that are not comparable.
TEST(Page, DrawsSpeedupsOverDifferentCountsApart) {
  analyze::MeasurementRows rows;
  rows.device = "t4";
  rows.at_local(2, 32, "epoch_time", 200).at_local(4, 32, "epoch_time", 110);
  rows.device = "v100";
  rows.at_local(4, 32, "epoch_time", 80).at_local(8, 32, "epoch_time", 44);
  PageSource source;
  source.rows = rows.rows;
  const json page = page_json(build_page(source));
  std::set<std::string> titles;
  for (const json& chart : view(page, "scaling")["charts"]) {
    titles.insert(chart["title"]);
    for (const json& series : chart["series"]) {
      EXPECT_TRUE(series["role"] != "ideal" || series["points"][0][1] == 1) << chart["title"];
    }
  }
  EXPECT_EQ(titles.size(), 4u);
}

TEST(Page, WithoutAnyDataExplainsInEveryViewWhatWouldFillIt) {
  const json page = page_json(build_page(PageSource{}));
  EXPECT_EQ(page["views"].size(), 10u);
  for (const json& one : page["views"]) {
    EXPECT_TRUE(one["charts"].empty()) << one["id"];
    EXPECT_FALSE(one["missing"].get<std::string>().empty()) << one["id"];
  }
}

TEST(Page, GivesEveryChartAUniqueId) {
  const json page = page_json(build_page(study()));
  std::set<std::string> ids;
  for (const json& one : page["views"]) {
    EXPECT_TRUE(ids.insert(one["id"]).second || one["id"] == "backtest");
    for (const json& chart : one["charts"]) {
      EXPECT_TRUE(ids.insert("chart " + chart["id"].get<std::string>()).second) << chart["id"];
    }
  }
}

TEST(Page, AdvisesEachJobOnItsOwn) {
  PageSource source = study();
  analyze::MeasurementRows other;
  other.model = "another";
  other.at_global(1, 32, "epoch_time", 1).at_global(2, 32, "epoch_time", 0.99);
  source.rows.insert(source.rows.end(), other.rows.begin(), other.rows.end());
  const json page = page_json(build_page(source));
  ASSERT_EQ(page["advice"].size(), 2u);
  EXPECT_EQ(page["advice"][0]["workers"], 2);
  EXPECT_EQ(page["advice"][1]["workers"], 1);
}

TEST(Page, ShowsTheStepsOfARunRankByRank) {
  PageSource source;
  RunDigest digest;
  digest.run.summary.id = 7;
  digest.run.summary.spec.workers = 2;
  digest.run.started.spec.workers = 2;
  collect::StepDigestBuilder steps(200, 2);
  analyze::StepBreakdownBuilder breakdown(2);
  for (std::int64_t s = 0; s < 100; ++s) {
    for (int rank = 0; rank < 2; ++rank) {
      record::StepTimes one;
      one.step = s;
      one.rank = rank;
      one.start_ns = 1'000'000'000 + s * 20'000'000;
      one.ready_ns = one.start_ns + (rank + 1) * 5'000'000;
      one.total_s = 0.012;
      one[record::Phase::kForward] = 0.005 * (rank + 1);
      one[record::Phase::kWait] = 0.012 - 0.005 * (rank + 1);
      steps.add(one);
      breakdown.add({{one}});
    }
  }
  digest.steps = steps.finish();
  digest.breakdown = breakdown.result();
  source.runs.push_back(digest);
  const json page = page_json(build_page(source));
  const json& ranks = view(page, "time")["charts"][0];
  EXPECT_EQ(ranks["categories"], json::parse(R"(["rank 0","rank 1"])"));
  EXPECT_NE(ranks["caption"].get<std::string>().find("Slowest: rank 1"), std::string::npos);
  std::set<std::string> families;
  for (const json& chart : view(page, "steps")["charts"]) families.insert(chart["family"]);
  EXPECT_EQ(families, (std::set<std::string>{"steps", "timeline", "utilisation"}));
}

TEST(Page, TextFromElsewhereCannotBreakTheDocument) {
  PageSource source = study();
  for (record::Measurement& row : source.rows) row.device = "gpu\xff</script>\x1b[2J";
  source.title = "\xc3(</script>";
  EXPECT_NO_THROW(page_json(build_page(source)).dump());
}

}  // namespace
}  // namespace lockstep::report
