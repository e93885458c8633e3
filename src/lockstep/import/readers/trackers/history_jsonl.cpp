#include "lockstep/import/readers/readers.h"

#include <string>

#include "lockstep/import/model/history.h"
#include "lockstep/import/model/log_reader.h"
#include "lockstep/import/scan/json_line.h"
#include "lockstep/import/scan/line_source.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr int kMostOtherLines = 200;
constexpr std::size_t kMostRunsOfHistory = 1000;

class HistoryReader final : public Reader {
 public:
  std::string_view name() const override { return "history-jsonl"; }
  std::string_view description() const override {
    return "JSON lines of figures: Weights & Biases history (_step, _runtime), other flat objects";
  }

  Match recognise(const Sample& sample) const override {
    // Some tools write empty objects first, a file may be padded with zero bytes, and a script may
    // print other lines above its JSON.
    std::string_view text = sample.text;
    JsonLine json;
    int other_lines = 0;
    bool known = false;
    for (int objects = 0; objects < 2 && other_lines < kMostOtherLines && !text.empty();) {
      const std::size_t stop = text.find('\n');
      std::string_view line = trim(text.substr(0, stop));
      while (!line.empty() && line[0] == '\0') line.remove_prefix(1);
      text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
      if (line.empty() || line == "{}") continue;
      if (line.size() < 2 || line[0] != '{' || !json.parse(line)) {
        ++other_lines;
        continue;
      }
      ++objects;
      for (const JsonLineField& field : json.fields()) {
        if (other_lines == 0 &&
            (field.is("", "_step") || field.is("", "_runtime") || field.is("", "_timestamp")))
          return Match::kCertain;
        known = known || metric_of(field.name).metric != Metric::kOther;
      }
      if (other_lines == 0) break;
      if (objects < 2) known = false;  // one object among text may be anything
    }
    return known ? Match::kPossible : Match::kNo;
  }

  void read(Input& input, ImportSink& sink) const override {
    LineSource lines(input);
    History history;
    JsonLine json;
    Line line;
    std::size_t runs = 0;
    const auto end_run = [&] {
      ImportedRun run = history.finish();
      if (++runs > 1) run.label = "#" + std::to_string(runs);
      sink.add(std::move(run));
      history = History();
    };
    std::uint64_t bad_line = 0;
    std::uint64_t bad_lines = 0;
    while (lines.next(line)) {
      if (json.parse(line.text)) {
        if (runs < kMostRunsOfHistory && history.is_of_another_run(json.fields())) end_run();
        history.row(json.fields());
      } else {
        if (bad_lines++ == 0) bad_line = line.number;
      }
    }
    warn_of_damage(lines, input, sink);
    if (bad_lines > 0) {
      sink.warn(input.name() + " line " + std::to_string(bad_line) + " is not a JSON object" +
                (bad_lines > 1 ? " (" + std::to_string(bad_lines) + " such lines)" : ""));
    }
    if (history.rows() > 0) end_run();
  }
};

}  // namespace

std::unique_ptr<Reader> make_history_jsonl_reader() {
  return std::make_unique<HistoryReader>();
}

}  // namespace lockstep::import
