#include "lockstep/import/readers/readers.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "lockstep/import/readers/programs/trainer_history.h"
#include "lockstep/import/scan/rank_prefix.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// The pairs of "{'loss': 0.5, 'epoch': '1.0'}": newer versions quote the numbers too. False when
/// `text` is no dict of numbers.
bool read_dict(std::string_view text, JsonObject& fields) {
  fields.clear();
  const std::size_t close = text.find('}');
  if (text.empty() || text[0] != '{' || close == std::string_view::npos) return false;
  text = text.substr(1, close - 1);
  bool any = false;
  for (std::size_t open = text.find('\''); open != std::string_view::npos; open = text.find('\'')) {
    const std::size_t end = text.find('\'', open + 1);
    if (end == std::string_view::npos) break;
    const std::string_view name = text.substr(open + 1, end - open - 1);
    text.remove_prefix(end + 1);
    if (text.empty() || text[0] != ':') return any;
    std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) comma = text.size();
    std::string_view value = trim(text.substr(1, comma - 1));
    if (value.size() > 1 && value[0] == '\'' && value.back() == '\'')
      value = value.substr(1, value.size() - 2);
    if (const auto number = parse_number(value)) {
      JsonField& field = fields.add();
      field.name = name;
      field.is_number = true;
      field.number = *number;
      field.text.clear();
      any = true;
    }
    text.remove_prefix(comma);
  }
  return any;
}

/// Where a dict that the Trainer prints begins.
std::size_t dict_at(std::string_view text) {
  for (const std::string_view mark : {"{'loss'", "{'eval_", "{'train_"}) {
    const std::size_t at = position_of(mark, text);
    if (at != std::string_view::npos) return at;
  }
  return std::string_view::npos;
}

class TrainerStdoutParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const std::string_view text = line.text;
    if (const std::size_t at = dict_at(text); at != std::string_view::npos) {
      end_metrics();
      if (!read_dict(text.substr(at), fields_)) return false;
      note_summary();
      history_.entry(fields_);
      return true;
    }
    if (text.starts_with("***** ") && contains(text, " metrics *****")) {
      end_metrics();
      in_metrics_ = true;
      fields_.clear();
      return true;
    }
    if (in_metrics_ && metric_line(text)) return true;
    end_metrics();
    if (process_line(text)) return true;
    if (contains(text, "***** Running training *****")) {
      if (history_.entries() > 0) end_run();
      return true;
    }
    return contains(text, " = ") && size_line(text);
  }

  std::vector<ImportedRun> finish() override {
    end_metrics();
    end_run();
    return std::move(runs_);
  }

 private:
  /// "  train_runtime            = 0:00:04.73" of the summary that the example scripts print.
  bool metric_line(std::string_view text) {
    const std::size_t sign = text.find(" = ");
    if (sign == std::string_view::npos) return false;
    const std::string_view name = trim(text.substr(0, sign));
    const std::string_view value = trim(text.substr(sign + 3));
    auto number = parse_number(value);
    if (!number && value.find(':') != std::string_view::npos) number = parse_duration(value);
    const bool wanted = name == "epoch" || name == "train_loss" || name == "train_runtime" ||
                        name == "train_samples_per_second" || name == "train_steps_per_second" ||
                        (name.starts_with("eval_") && !contains(name, "samples") &&
                         !contains(name, "per_second") && !contains(name, "runtime"));
    if (!number || !wanted) return true;
    JsonField& field = fields_.add();
    field.name = name;
    field.number = *number;
    field.is_number = true;
    field.text.clear();
    return true;
  }

  /// A summary repeats, rounded, what was printed as a dict before.
  void end_metrics() {
    if (!in_metrics_) return;
    in_metrics_ = false;
    bool known = false;
    for (const JsonField& field : fields_) {
      known = known || (field.name == "train_runtime" && train_summary_) ||
              (field.name.starts_with("eval_") && eval_summary_);
    }
    if (!known && fields_.begin() != fields_.end()) history_.entry(fields_);
  }

  void note_summary() {
    for (const JsonField& field : fields_) {
      train_summary_ = train_summary_ || field.name == "train_runtime";
      eval_summary_ = eval_summary_ || field.name == "eval_loss";
    }
  }

  /// "Process rank: 1, device: cuda:1, n_gpu: 1, distributed training: True": each process of the
  /// example scripts prints it.
  bool process_line(std::string_view text) {
    const auto rank = integer_after(text, "Process rank: ");
    const auto devices = integer_after(text, "n_gpu: ");
    if (!rank || !devices || *rank < -1 || *rank > kHighestRank || !contains(text, "distributed"))
      return false;
    if (history_.entries() > 0) end_run();
    one_process_ = contains(text, "istributed training: False") && *devices == 1;
    several_devices_ = several_devices_ || *devices > 1;
    ranks_.insert(static_cast<int>(std::max<std::int64_t>(*rank, 0)));
    return true;
  }

  /// Each process has one device, and all have said so.
  void offer_processes(ImportedRun& run) {
    const int ranks = count_of_ranks(ranks_);
    if (!several_devices_ && ranks > 0 && (ranks > 1 || one_process_)) {
      run.workers.offer(ranks, Provenance::kDerived);
      run.notes["workers"] = "processes that named their rank";
    }
    ranks_.clear();
    several_devices_ = one_process_ = false;
  }

  bool size_line(std::string_view text) {
    const auto count = [&](std::string_view mark) -> std::optional<std::int64_t> {
      const auto value = integer_after(text, mark);
      return value && *value > 0 ? value : std::nullopt;
    };
    ImportedRun& run = history_.run();
    if (const auto examples = count("Num examples = ")) {
      run.examples.offer(*examples);
    } else if (const auto epochs = count("Num Epochs = ")) {
      history_.setting("num_train_epochs", static_cast<double>(*epochs));
    } else if (const auto each = count("Instantaneous batch size per device = ")) {
      run.batch_per_worker.offer(*each);
    } else if (const auto whole = count("distributed & accumulation) = ")) {
      run.global_batch.offer(*whole);
    } else if (const auto accumulate = count("Gradient Accumulation steps = ")) {
      run.accumulate.offer(*accumulate);
    } else if (const auto steps = count("Total optimization steps = ")) {
      history_.setting("max_steps", static_cast<double>(*steps));
      history_.setting("global_step", static_cast<double>(*steps));
    } else if (const auto parameters = count("Number of trainable parameters = ")) {
      run.parameters.offer(*parameters);
    } else {
      return false;
    }
    return true;
  }

  void end_run() {
    if (history_.entries() > 0) {
      ImportedRun run = history_.finish();
      offer_processes(run);
      if (run.global_batch && run.batch_per_worker && run.global_batch.from == Provenance::kLog) {
        const std::int64_t accumulate = run.accumulate.value.value_or(1);
        const std::int64_t workers = *run.global_batch / *run.batch_per_worker / accumulate;
        if (workers >= 1 && workers * accumulate * *run.batch_per_worker == *run.global_batch) {
          run.workers.offer(workers, Provenance::kDerived);
          run.notes["workers"] = "total batch / (batch per device x accumulation)";
        }
      }
      run.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(std::move(run));
    }
    history_ = TrainerHistory();
    train_summary_ = false;
    eval_summary_ = false;
  }

  static constexpr std::int64_t kHighestRank = 1 << 20;

  TrainerHistory history_;
  JsonObject fields_;
  std::set<int> ranks_;
  bool several_devices_ = false;
  bool one_process_ = false;
  bool in_metrics_ = false;
  bool train_summary_ = false;  ///< a dict has the figures of the whole run
  bool eval_summary_ = false;
  std::vector<ImportedRun> runs_;
};

Match recognise_trainer_stdout(const Sample& sample) {
  const std::string_view text = sample.text;
  const bool dict = contains(text, "{'loss': ") || contains(text, "{'train_runtime': ") ||
                    contains(text, "{'eval_loss': ");
  if (dict && contains(text, "'epoch': ")) return Match::kCertain;
  if (contains(text, "***** train metrics *****") && contains(text, "train_runtime"))
    return Match::kCertain;
  return contains(text, "***** Running training *****") ? Match::kPossible : Match::kNo;
}

}  // namespace

LogFormat trainer_stdout_format() {
  return {"trainer-stdout",
          "Hugging Face Trainer's printout ({'loss': 0.5, 'learning_rate': 4.9e-05, 'epoch': 0.5})",
          recognise_trainer_stdout,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<TrainerStdoutParser>(); }};
}

}  // namespace lockstep::import
