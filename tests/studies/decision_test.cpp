#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lockstep/advise/job_advice.h"
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

/// Some models, devices, batches and settings, times that scale well or badly, holes in the table.
std::vector<Measurement> random_table(Rng& rng) {
  std::vector<Measurement> rows;
  const char* const kMetrics[] = {"epoch_time", "throughput", "step_time"};
  const std::string metric = kMetrics[rng.below(3)];
  const bool strong = rng.below(2) == 0;
  const std::uint64_t models = 1 + rng.below(2);
  for (std::uint64_t series = 0; series < 1 + rng.below(4); ++series) {
    Measurement row;
    row.model = fmt::format("net{}", rng.below(models));
    row.dataset = "data";
    row.device = rng.below(2) == 0 ? "t4" : "v100";
    if (rng.below(3) == 0) row.notes["cpus"] = std::to_string(1 + rng.below(3));
    row.examples = 50'000;
    row.metric = metric;
    row.unit = metric == "throughput" ? "examples/s" : "s";
    const auto batch = static_cast<std::int64_t>(16u << rng.below(4));
    const double base = std::exp(rng.normal());
    const double exponent = 1.2 * rng.uniform() - 0.1;
    for (std::int64_t n = 1; n <= 16; n *= 2) {
      if (rng.below(4) == 0) continue;
      row.workers = n;
      row.global_batch = strong ? std::optional(batch * 16) : std::nullopt;
      row.batch_per_worker = strong ? std::nullopt : std::optional<double>(batch);
      const double speed =
          std::pow(static_cast<double>(n), exponent) * std::exp(0.05 * rng.normal());
      row.value = metric == "epoch_time"   ? 100 * base / speed
                  : metric == "throughput" ? 500 * speed / base
                                           : base * (strong ? 1.0 : static_cast<double>(n)) / speed;
      rows.push_back(row);
      if (rng.below(3) == 0) {
        Measurement learned = row;
        learned.metric = "val_accuracy";
        learned.unit = "";
        learned.value = 0.7 + 0.25 * rng.uniform();
        rows.push_back(learned);
      }
    }
  }
  return rows;
}

TEST(Decision, ReportPageAndAdviseGiveOneAnswerOnRandomTables) {
  Rng rng(2026);
  int answered = 0;
  for (int round = 0; round < 300; ++round) {
    const auto rows = random_table(rng);
    if (rows.empty()) continue;
    answered += advised(rows).empty() ? 0 : 1;
    expect_one_answer(rows, fmt::format("table {}", round));
  }
  EXPECT_GT(answered, 250);
}

}  // namespace
}  // namespace lockstep
