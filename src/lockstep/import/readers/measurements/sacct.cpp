#include "lockstep/import/readers/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "lockstep/base/error.h"
#include "lockstep/import/model/log_reader.h"
#include "lockstep/import/model/name_facts.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/line_source.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostJobs = 200'000;
constexpr std::size_t kSacctSample = 64 * 1024;

/// Cuts rows as the table's header asks for: at '|', or at the columns that the dashes under the
/// header show.
class RowCutter {
 public:
  bool header(std::string_view line) {
    if (contains(line, "|")) {
      delimiter_ = '|';
    } else if (contains(line, ",")) {
      delimiter_ = ',';
    }
    return true;
  }

  /// "------------ ---------- ": widths of the columns.
  bool dashes(std::string_view line) {
    if (delimiter_ != 0 || line.find_first_not_of("- ") != std::string_view::npos ||
        !contains(line, "--")) {
      return false;
    }
    columns_.clear();
    for (std::size_t i = 0; i < line.size();) {
      const std::size_t begin = line.find('-', i);
      if (begin == std::string_view::npos) break;
      const std::size_t end = std::min(line.find(' ', begin), line.size());
      columns_.push_back({begin, end - begin});
      i = end;
    }
    return true;
  }

  std::vector<std::string> cut(std::string_view line) const {
    std::vector<std::string> fields;
    if (delimiter_ != 0) {
      while (true) {
        const std::size_t stop = line.find(delimiter_);
        fields.emplace_back(trim(line.substr(0, stop)));
        if (stop == std::string_view::npos) break;
        line.remove_prefix(stop + 1);
      }
      return fields;
    }
    for (const auto& [begin, width] : columns_) {
      fields.emplace_back(begin < line.size() ? trim(line.substr(begin, width))
                                              : std::string_view());
    }
    return fields;
  }

  bool by_columns() const { return delimiter_ == 0; }

 private:
  char delimiter_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> columns_;
};

/// "billing=32,gres/gpu=4,node=2" or "gpu:a100:4" -> 4.
std::optional<std::int64_t> gpus_of(std::string_view resources) {
  for (std::string_view mark : {"gres/gpu=", "gpu="}) {
    const auto count = integer_after(resources, mark);
    if (count && *count > 0) return count;
  }
  const std::size_t typed = resources.find("gres/gpu:");
  if (typed != std::string_view::npos) {
    const auto count = integer_after(resources.substr(typed), "=");
    if (count && *count > 0) return count;
  }
  return std::nullopt;
}

class JobTable {
 public:
  explicit JobTable(std::vector<std::string> header) {
    for (std::size_t i = 0; i < header.size(); ++i) columns_.emplace(lower(header[i]), i);
  }

  bool has(std::string_view column) const { return columns_.find(column) != columns_.end(); }

  void row(const std::vector<std::string>& fields) {
    std::string id = field(fields, "jobid");
    if (id.empty()) id = field(fields, "jobidraw");
    if (id.empty() || !is_digit(id[0])) return;
    const std::size_t dot = id.find('.');
    const std::string job = id.substr(0, dot);
    if (runs_.size() >= kMostJobs && runs_.find(job) == runs_.end()) return;
    const auto [place, fresh] = runs_.try_emplace(job);
    if (fresh) order_.push_back(job);
    if (dot == std::string::npos) {
      job_row(fields, place->second);
    } else {
      step_row(fields, id.substr(dot + 1), place->second);
    }
  }

  std::vector<ImportedRun> finish() {
    std::vector<ImportedRun> runs;
    for (const std::string& job : order_) {
      ImportedRun& run = runs_[job];
      const auto name = run.notes.find("job_name");
      run.label = job + (name == run.notes.end() ? "" : " " + name->second);
      run.notes["job"] = job;
      runs.push_back(std::move(run));
    }
    return runs;
  }

 private:
  std::string field(const std::vector<std::string>& fields, std::string_view column) const {
    const auto found = columns_.find(column);
    return found != columns_.end() && found->second < fields.size() ? fields[found->second] : "";
  }

  void job_row(const std::vector<std::string>& fields, ImportedRun& run) const {
    note(fields, "jobname", "job_name", run);
    note(fields, "partition", "partition", run);
    note(fields, "state", "state", run);
    note(fields, "exitcode", "exit_code", run);
    note(fields, "alloccpus", "cpus", run);
    note(fields, "ncpus", "cpus", run);
    const std::string state = field(fields, "state");
    if (state.starts_with("OUT_OF_ME")) run.out_of_memory = true;
    if (state.starts_with("FAILED") || state.starts_with("TIMEOUT") ||
        state.starts_with("CANCELLED") || state.starts_with("NODE_FAIL") ||
        state.starts_with("OUT_OF_ME")) {
      run.failure = "Slurm state: " + printable(state, 60);
    }
    times(fields, run);
    for (std::string_view column : {"nnodes", "allocnodes"}) {
      const auto nodes = parse_integer(field(fields, column));
      if (nodes && *nodes > 0) run.nodes.offer(*nodes);
    }
    for (std::string_view column : {"reqgres", "allocgres", "reqtres", "alloctres"}) {
      if (const auto gpus = gpus_of(field(fields, column))) run.workers.offer(*gpus);
    }
    const auto tasks = parse_integer(field(fields, "ntasks"));
    if (tasks && *tasks > 0 && !run.workers) run.workers.offer(*tasks);
  }

  void times(const std::vector<std::string>& fields, ImportedRun& run) const {
    const auto submit = parse_wall_time(field(fields, "submit"));
    const auto eligible = parse_wall_time(field(fields, "eligible"));
    const auto start = parse_wall_time(field(fields, "start"));
    const auto end = parse_wall_time(field(fields, "end"));
    if (submit && start && *start >= *submit) {
      run.queue_wait_s = static_cast<double>(*start - *submit) * 1e-9;
    } else if (eligible && start && *start >= *eligible) {
      run.queue_wait_s = static_cast<double>(*start - *eligible) * 1e-9;
      run.notes["queue_wait"] = "from Eligible, as there is no Submit";
    } else {
      for (std::string_view column : {"planned", "reserved"}) {
        if (const auto wait = parse_duration(field(fields, column))) run.queue_wait_s = *wait;
      }
    }
    auto elapsed = parse_number(field(fields, "elapsedraw"));
    if (!elapsed) elapsed = parse_duration(field(fields, "elapsed"));
    if (!elapsed && start && end && *end >= *start)
      elapsed = static_cast<double>(*end - *start) * 1e-9;
    const std::string state = field(fields, "state");
    const bool over = !state.starts_with("PENDING") && !state.starts_with("RUNNING");
    if (elapsed && *elapsed > 0 && over) run.total_s = *elapsed;
    if (start) run.started_wall_ns = start;
    if (end) run.ended_wall_ns = end;
  }

  void step_row(const std::vector<std::string>& fields, std::string_view step,
                ImportedRun& run) const {
    const auto tasks = parse_integer(field(fields, "ntasks"));
    if (tasks && *tasks > 0 && !step.empty() && is_digit(step[0]) && !run.workers)
      run.workers.offer(*tasks);
    if (field(fields, "state").starts_with("OUT_OF_ME")) run.out_of_memory = true;
  }

  void note(const std::vector<std::string>& fields, std::string_view column, const char* name,
            ImportedRun& run) const {
    const std::string text = field(fields, column);
    if (!text.empty()) run.notes[name] = printable(text, 120);
  }

  std::map<std::string, std::size_t, std::less<>> columns_;
  std::map<std::string, ImportedRun> runs_;
  std::vector<std::string> order_;
};

bool is_header(std::string_view line) {
  const std::string text = lower(trim(line));
  const bool first =
      text.starts_with("jobid") || text.starts_with("jobname|") || contains(text, "|jobid");
  return first && (contains(text, "state") || contains(text, "jobname") ||
                   contains(text, "elapsed") || contains(text, "start"));
}

bool is_job_id(std::string_view word) {
  std::size_t digits = 0;
  while (digits < word.size() && is_digit(word[digits])) ++digits;
  return digits > 0 && (digits == word.size() || word[digits] == '.' || word[digits] == '_');
}

/// "1234567|train|gpu|project|8|COMPLETED|0:0": a line of `sacct -n`, which leaves the header out.
bool is_bare_row(std::string_view line) {
  line = trim(line);
  const std::size_t end = line.find_first_of(" |,\t");
  return end != std::string_view::npos && is_job_id(line.substr(0, end)) &&
         contains_any<"COMPLETED", "FAILED", "RUNNING", "TIMEOUT", "CANCELLED", "PENDING",
                      "OUT_OF_ME", "NODE_FAIL", "PREEMPTED">(line);
}

bool has_only_bare_rows(std::string_view text) {
  int rows = 0;
  for (int lines = 0; lines < 50 && !text.empty(); ++lines) {
    const std::size_t stop = text.find('\n');
    const std::string_view line = trim(text.substr(0, stop));
    text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
    if (line.empty()) continue;
    if (!is_bare_row(line)) return false;
    ++rows;
  }
  return rows > 0;
}

class SacctReader final : public Reader {
 public:
  std::string_view name() const override { return "sacct"; }
  std::string_view description() const override {
    return "Slurm sacct tables (| or columns): queue wait, run time, nodes, devices, state";
  }

  Match recognise(const Sample& sample) const override {
    std::string_view text = sample.text;
    for (int lines = 0; lines < 20 && !text.empty(); ++lines) {
      const std::size_t stop = text.find('\n');
      if (is_header(text.substr(0, stop))) return Match::kCertain;
      text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
    }
    return has_only_bare_rows(sample.text) ? Match::kCertain : Match::kNo;
  }

  void read(Input& input, ImportSink& sink) const override {
    if (has_only_bare_rows(input.peek(kSacctSample))) {
      throw Error(ErrorKind::kData,
                  fmt::format("{} is a sacct table without its header, so its columns are unknown",
                              input.name()),
                  "print it again without -n: sacct --parsable2 --format=JobID,JobName,NNodes,"
                  "AllocTRES,Submit,Start,End,Elapsed,State");
    }
    LineSource lines(input);
    RowCutter cutter;
    std::string header;
    Line line;
    while (header.empty() && lines.next(line)) {
      if (is_header(line.text)) header = line.text;
    }
    if (header.empty()) return;
    cutter.header(header);
    if (cutter.by_columns() && !(lines.next(line) && cutter.dashes(line.text))) {
      sink.warn(input.name() + " line " + std::to_string(lines.number()) +
                " should be the dashes under the header of a sacct table");
      return;
    }
    JobTable table(cutter.cut(header));
    while (lines.next(line)) table.row(cutter.cut(line.text));
    warn_of_damage(lines, input, sink);
    const bool wait = (table.has("submit") && table.has("start")) || table.has("planned") ||
                      table.has("reserved");
    const bool time =
        table.has("elapsed") || table.has("elapsedraw") || (table.has("start") && table.has("end"));
    for (ImportedRun& run : table.finish()) {
      if (!wait) run.missing.push_back("queue wait: the table has no columns Submit and Start");
      if (!time)
        run.missing.push_back("run time: the table has no column Elapsed, nor Start and End");
      sink.add(std::move(run));
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_sacct_reader() {
  return std::make_unique<SacctReader>();
}

}  // namespace lockstep::import
