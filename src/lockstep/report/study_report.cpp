#include "lockstep/report/study_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/report/study_tables.h"
#include "lockstep/report/text_width.h"

namespace lockstep::report {
namespace {

std::string verdict_text(const StudyReport& report, std::size_t width) {
  std::string out = "Verdict\n";
  const auto append = [&](const std::string& first, const std::string& text) {
    const std::size_t room = width > first.size() + 20 ? width - first.size() : 100000;
    std::string lead = first;
    for (const std::string& line : wrap(printable(text), room)) {
      out += lead + line + "\n";
      lead.assign(first.size(), ' ');
    }
  };
  for (const analyze::Finding& finding : report.verdict) {
    append(fmt::format("  {:<8}", analyze::topic_name(finding.topic)), finding.sentence);
  }
  append("  ", paying_rule());
  return out;
}

std::string verdict_markup(const StudyReport& report, Format format) {
  // As a table without title the sentences get the escaping of the format.
  Table table;
  table.title = "Verdict";
  table.columns = {{"topic", "", "topic", Align::kLeft, ""},
                   {"finding", "", "sentence", Align::kLeft, ""}};
  for (const analyze::Finding& finding : report.verdict) {
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

std::string paying_rule() {
  return fmt::format(
      "A worker count pays while each step up to it gives at least {:.0f} % of the gain its "
      "devices "
      "could give; times within {:.0f} % of each other count as the same.",
      100 * analyze::kPayingShare, 100 * analyze::kSameTime);
}

StudyReport study_report(std::span<const record::Measurement> rows, const StudyOptions& options) {
  const auto configurations = analyze::configurations(rows);
  const auto groups = analyze::speedups(configurations, options.speedup);
  StudyReport report;
  append_all(report.tables, speedup_tables(groups));
  append_all(report.tables, split_tables(groups));
  append_all(report.tables, all_reduce_tables(groups, options.links, options.link_note));
  append_all(report.tables, quality_tables(configurations, options.stability));
  report.verdict = analyze::verdict(configurations, groups);
  return report;
}

std::string render_study(const StudyReport& report, Format format, const RenderOptions& options) {
  if (format == Format::kJson) return study_json(report);
  if (format == Format::kCsv) {
    throw Error(ErrorKind::kInternal, "a study as CSV is its measurements table");
  }
  std::string out;
  for (const Table& table : report.tables) out += render(table, format, options) + "\n";
  return out + (format == Format::kText ? verdict_text(report, options.width)
                                        : verdict_markup(report, format));
}

}  // namespace lockstep::report
