#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lockstep/advise/job_advice.h"
#include "lockstep/analyze/random_table.h"
#include "lockstep/base/rng.h"
#include "lockstep/import/measurements_table.h"
#include "lockstep/report/page/page.h"
#include "lockstep/report/page/page_source.h"
#include "lockstep/report/study_report.h"

namespace lockstep {
namespace {

using record::Measurement;

/// The sentences of `lockstep advise` without limits.
std::vector<std::string> advised(const std::vector<Measurement>& rows) {
  const auto configurations = analyze::configurations(rows);
  const auto groups = analyze::speedups(configurations);
  std::vector<std::string> sentences;
  for (const advise::JobAdvice& job : advise::advise_if_possible(
           {configurations, groups, predict::job_series_if_any(rows, predict::RowsFrom::kTable)})) {
    sentences.push_back(job.sentence());
  }
  return sentences;
}

std::vector<std::string> reported(const std::vector<Measurement>& rows) {
  const auto report = nlohmann::json::parse(
      report::render_study(report::study_report(rows), report::Format::kJson));
  std::vector<std::string> sentences;
  for (const auto& job : report["decision"]) sentences.push_back(job["sentence"]);
  return sentences;
}

nlohmann::json page_of(const std::vector<Measurement>& rows) {
  return report::page_json(report::build_page(report::table_page("table", rows, {})));
}

/// Every surface gives the same advice, and the verdict on the chosen series names the same count.
void expect_one_answer(const std::vector<Measurement>& rows, const std::string& name) {
  const std::vector<std::string> answer = advised(rows);
  EXPECT_EQ(reported(rows), answer) << name;
  const nlohmann::json page = page_of(rows);
  std::vector<std::string> shown;
  for (const auto& job : page["advice"]) shown.push_back(job["sentence"]);
  EXPECT_EQ(shown, answer) << name;
  if (answer.empty()) return;
  EXPECT_NE(page["headline"].get<std::string>().find(answer.front()), std::string::npos) << name;
  const std::string text = report::render_study(report::study_report(rows), report::Format::kText);
  EXPECT_NE(text.find("  decision "), std::string::npos) << text;
}

TEST(Decision, ReportPageAndAdviseGiveOneAnswerOnTheFiveStudies) {
  for (const char* name :
       {"a-runtime-prediction", "b-multi-worker-classifiers", "c-data-parallel-resnet18",
        "d-steering-regression", "e-data-parallel-sweep"}) {
    const auto rows =
        import::read_measurements_file(fmt::format("{}/{}.csv", LOCKSTEP_STUDIES, name)).rows;
    EXPECT_FALSE(advised(rows).empty()) << name;
    expect_one_answer(rows, name);
  }
}

TEST(Decision, ReportPageAndAdviseGiveOneAnswerOnRandomTables) {
  Rng rng(2026);
  int answered = 0;
  for (int round = 0; round < 300; ++round) {
    const auto rows = analyze::random_table(rng);
    if (rows.empty()) continue;
    answered += advised(rows).empty() ? 0 : 1;
    expect_one_answer(rows, fmt::format("table {}", round));
  }
  EXPECT_GT(answered, 250);
}

}  // namespace
}  // namespace lockstep
