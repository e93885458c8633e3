#include "lockstep/report/study_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/base/text/text.h"
#include "lockstep/report/delays_table.h"
#include "lockstep/report/render/text_width.h"
#include "lockstep/report/study_tables.h"
#include "lockstep/report/work_table.h"

namespace lockstep::report {
namespace {

/// Of each topic the text shows that many sentences, and counts the rest.
constexpr std::size_t kMostShown = 6;

/// The decision first, then of each topic the first findings.
std::vector<analyze::Finding> shown_findings(const StudyReport& report) {
  std::vector<analyze::Finding> shown;
  for (const advise::JobAdvice& job : report.advice) {
    if (shown.size() >= kMostShown) break;
    shown.push_back({analyze::Topic::kDecision, job.sentence_of(report.advice.size())});
  }
  std::map<analyze::Topic, std::size_t> total;
  for (const analyze::Finding& finding : report.verdict) ++total[finding.topic];
  total[analyze::Topic::kDecision] = report.advice.size();
  std::map<analyze::Topic, std::size_t> seen;
  const auto count_rest = [&](analyze::Topic topic) {
    if (total[topic] <= kMostShown) return;
    shown.push_back({topic, fmt::format("... and {} more of the same kind; --json lists all.",
                                        total[topic] - kMostShown)});
  };
  count_rest(analyze::Topic::kDecision);
  for (const analyze::Finding& finding : report.verdict) {
    const std::size_t at = ++seen[finding.topic];
    if (at <= kMostShown) shown.push_back(finding);
    if (at == kMostShown) count_rest(finding.topic);
  }
  return shown;
}

std::string verdict_text(const StudyReport& report, std::size_t width) {
  std::string out = "Verdict\n";
  for (const analyze::Finding& finding : shown_findings(report)) {
    append_wrapped(out, fmt::format("  {:<12}", analyze::topic_name(finding.topic)),
                   printable(finding.sentence), width);
  }
  append_wrapped(out, "  ", paying_rule(), width);
  return out;
}

std::string verdict_markup(const StudyReport& report, Format format) {
  // As a table without title the sentences get the escaping of the format.
  Table table;
  table.title = "Verdict";
  table.columns = {{"topic", "", "topic", Align::kLeft, ""},
                   {"finding", "", "sentence", Align::kLeft, ""}};
  for (const analyze::Finding& finding : shown_findings(report)) {
    table.rows.push_back({std::string(analyze::topic_name(finding.topic)), finding.sentence});
  }
  table.notes = {paying_rule()};
  return render(table, format);
}

std::string study_json(const StudyReport& report) {
  nlohmann::ordered_json out;
  out["tables"] = nlohmann::ordered_json::array();
  for (const Table& table : report.tables) {
    out["tables"].push_back(nlohmann::ordered_json::parse(render(table, Format::kJson)));
  }
  out["decision"] = nlohmann::ordered_json::array();
  for (const advise::JobAdvice& job : report.advice) {
    out["decision"].push_back({{"job", printable(job.job)},
                               {"series", printable(job.labels[job.chosen().series])},
                               {"workers", job.chosen().workers},
                               {"sentence", printable(job.sentence())},
                               {"why", job.why}});
  }
  out["verdict"] = nlohmann::ordered_json::array();
  for (const analyze::Finding& finding : report.verdict) {
    out["verdict"].push_back(
        {{"topic", analyze::topic_name(finding.topic)}, {"sentence", printable(finding.sentence)}});
  }
  out["rule"] = paying_rule();
  return out.dump(2) + "\n";
}

void append_all(std::vector<Table>& to, std::vector<Table> from) {
  for (Table& table : from) to.push_back(std::move(table));
}

}  // namespace

std::vector<advise::JobAdvice> study_advice(std::span<const analyze::Configuration> configurations,
                                            std::span<const analyze::SpeedupGroup> groups,
                                            const std::vector<predict::TableSeries>& series,
                                            const StudyOptions& options) {
  advise::Terms terms;
  terms.price_per_hour = options.price_per_hour;
  return advise::advise_if_possible({configurations, groups, series, options.rooms}, terms);
}

std::string decision_text(std::span<const advise::JobAdvice> advice) {
  std::vector<std::string> sentences;
  for (const advise::JobAdvice& job : advice.first(std::min(advice.size(), kMostShown))) {
    sentences.push_back(job.sentence_of(advice.size()));
  }
  if (advice.size() > kMostShown) {
    sentences.push_back(fmt::format("{} more jobs are listed below.", advice.size() - kMostShown));
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

std::string paying_rule() {
  return fmt::format(
      "A worker count pays off if each step up to it gives at least {:.0f} % of the ideal gain; "
      "times within {:.0f} % of each other count as equal.",
      100 * analyze::kPayingShare, 100 * analyze::kSameTime);
}

StudyReport study_report(std::span<const record::Measurement> rows, const StudyOptions& options) {
  const auto configurations = analyze::configurations(rows);
  const auto groups = analyze::speedups(configurations, options.speedup);
  StudyReport report;
  report.advice = study_advice(
      configurations, groups,
      predict::job_series_if_any({rows.begin(), rows.end()}, options.rows_from), options);
  append_all(report.tables, speedup_tables(groups));
  append_all(report.tables, split_tables(groups));
  append_all(report.tables, all_reduce_tables(groups, options.links));
  append_all(report.tables,
             work_tables(groups, rows,
                         {options.peak_flops, options.price_per_hour, options.carbon_g_per_kwh}));
  append_all(report.tables, quality_tables(configurations, options.stability));
  report.verdict = analyze::verdict(configurations, groups);
  return report;
}

StudyReport study_report(const collect::StoredRuns& found, StudyOptions options) {
  options.rows_from = predict::RowsFrom::kStore;
  options.rooms = collect::host_rooms(found.runs);
  StudyReport report = study_report(found.rows, options);
  if (auto table = delays_table(delays_of(found.runs))) report.tables.push_back(std::move(*table));
  return report;
}

std::string render_study(const StudyReport& report, Format format, const RenderOptions& options) {
  if (format == Format::kJson) return study_json(report);
  if (format == Format::kCsv) {
    throw Error(ErrorKind::kInternal, "CSV of a study is the measurements table");
  }
  std::string out;
  for (const Table& table : report.tables) out += render(table, format, options) + "\n";
  return out + (format == Format::kText ? verdict_text(report, options.width)
                                        : verdict_markup(report, format));
}

}  // namespace lockstep::report
