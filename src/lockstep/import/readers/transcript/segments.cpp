#include "lockstep/import/readers/transcript/segments.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/import/readers/tables/table_cells.h"
#include "lockstep/import/readers/transcript/line_kinds.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/figure_scan.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// "Client B start training" after the heading "Client A start training": the same words but one.
bool is_like_heading(std::string_view text, std::string_view heading) {
  if (heading.empty() || text.size() > 120 || !text.starts_with(heading.substr(0, 4))) return false;
  std::size_t words = 0;
  std::size_t others = 0;
  text = trim(text);
  while (!text.empty() && !heading.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    const std::string_view known = heading.substr(0, heading.find(' '));
    ++words;
    others += word == known ? 0 : 1;
    text = trim(text.substr(word.size()));
    heading = trim(heading.substr(known.size()));
  }
  return text.empty() && heading.empty() && words > 2 && others <= 1;
}

}  // namespace

void Segments::tell(const Line& line, const std::string& words) {
  if (explain_ != nullptr && explain_->explains() && !words.empty())
    explain_->explain(line.number, line.text, done_.size(),
                      rank_ < 0 ? words : "rank " + std::to_string(rank_) + ": " + words);
}

void Segments::tell_figures(const Line& line) {
  if (!figures_.empty()) headings_below_ = 0;
  if (explain_ == nullptr || !explain_->explains()) return;
  std::string words;
  for (const LineFigure& figure : figures_)
    words += (words.empty() ? "" : ", ") + figure_words(figure);
  if (!words.empty() && cursor_ >= 0) words = "epoch " + std::to_string(cursor_) + ": " + words;
  tell(line, words);
}

/// "Training Time: 5.4 | Running Time: 25.5": the first is a part of the second.
void Segments::note_parts() {
  double part = 0;
  double whole = 0;
  for (const LineFigure& figure : figures_) {
    if (figure.kind != LineFigure::Kind::kEpochTime) continue;
    (figure.rank == 1 ? part : whole) = figure.value;
  }
  if (part > 0 && whole > part) training_is_part_ = true;
}

void Segments::marked_line(const Line& line, const EpochMark& mark) {
  figures_.clear();
  if (mark.named_by > 0 && !mark.within) {
    joined_ =
        fmt::format("{} epoch{}", line.text.substr(0, mark.named_by), line.text.substr(mark.end));
    line_figures(joined_, joined_, {true, false, above_}, metrics_, figures_);
  } else {
    line_figures(line.text.substr(mark.end), line.text, {true, mark.within, above_}, metrics_,
                 figures_);
  }
  note_parts();
  const bool conflict =
      !mark.within && std::any_of(figures_.begin(), figures_.end(), [&](const auto& figure) {
        return block_.conflicts(mark.epoch, figure);
      });
  const bool back = restarts(mark.epoch);
  if (!pending_.empty()) {
    const bool headed = std::any_of(pending_.begin(), pending_.end(), [](const StatedFact& fact) {
      return fact.key <= FactKey::kGlobalBatch;
    });
    // "Epoch 0/1, lr 0.05" below a heading has no result either.
    const bool begins =
        std::any_of(pending_.begin(), pending_.end(),
                    [](const StatedFact& fact) { return fact.key == FactKey::kHeading; }) &&
        std::all_of(figures_.begin(), figures_.end(), [](const LineFigure& figure) {
          return figure.metric == Metric::kLearningRate;
        });
    settle_pending(
        block_.out_of_memory ||
        (back && (conflict || (headed && (mark.epoch < cursor_ || figures_.empty() || begins)))));
  }
  if (block_.has_epochs() && mark.epoch < cursor_) went_back_ = back || went_back_;
  // "Epoch 1/10" after epochs of 5: another run, whatever it prints.
  const bool planned = back && mark.planned > 0 &&
                       std::any_of(scene_.begin(), scene_.end(), [&](const Entry& entry) {
                         return entry.fact.key == FactKey::kEpochs && entry.here &&
                                entry.fact.number != mark.planned;
                       });
  const bool again =
      (back && went_back_ && (conflict || (mark.within && mark.epoch < cursor_))) || planned;
  if (again && !block_.empty()) {
    end_block();
    for (Entry& entry : scene_) entry.here = false;
  }
  cursor_ = mark.epoch;
  headings_below_ = 0;
  take_words_above();
  block_.begin_epoch(mark.epoch);
  above_ = Split::kNone;
  header_only_ = figures_.empty();
  if (!mark.within) {
    epoch_closed_ = std::any_of(figures_.begin(), figures_.end(), [](const LineFigure& figure) {
      return figure.kind == LineFigure::Kind::kEpochTime ||
             (figure.kind == LineFigure::Kind::kCell && figure.metric != Metric::kLearningRate);
    });
  }
  if (header_only_ && rank_ >= 0) {
    repeats_ = repeats_ || line.text == last_header_;
    last_header_ = line.text;
  }
  if (held_bar_ && !figures_.empty() && !mark.within && split_of(line.text) != Split::kValidation) {
    block_.add_bar(mark.epoch, held_bar_->elapsed_s, held_bar_->of);
  }
  if (!figures_.empty()) held_bar_.reset();
  if (block_.out_of_memory && !figures_.empty()) block_.figures_after_failure = true;
  for (const LineFigure& figure : figures_) {
    if (mark.within) {
      block_.add_within(mark.epoch, mark.position, mark.length, figure);
    } else {
      block_.add(mark.epoch, figure, true);
    }
  }
  if (mark.planned > 0) put({FactKey::kEpochs, mark.planned, {}});
  tell_figures(line);
}

void Segments::step_line(const Line& line, std::int64_t step, std::size_t end) {
  figures_.clear();
  line_figures(line.text.substr(end), line.text, {true, true, above_}, metrics_, figures_);
  if (figures_.empty()) return;
  if (step < last_step_ && step <= 1) {
    settle_pending(true);
    end_block();
  } else {
    settle_pending(false);
  }
  last_step_ = std::max(last_step_, step);
  for (const LineFigure& figure : figures_) block_.add_step(step, figure);
  tell_figures(line);
}

/// "step 100 loss: 2.3" below "Epoch 2/3" is a place in that epoch. Below results of the epoch it
/// is one of the next, whose number the lines may not go on with: its loss is of no epoch.
bool Segments::step_below_epoch(const Line& line) {
  if (cursor_ < 0 || above_ == Split::kValidation || !contains_any<"oss", "cc">(line.text))
    return false;
  const auto step = find_step(line.text);
  if (!step) return false;
  const Split split = split_of(line.text);
  if (split == Split::kValidation || split == Split::kBoth) return false;
  const bool header_only = header_only_;
  if (epoch_closed_) {
    figures_.clear();
    line_figures(line.text.substr(step->second), line.text, {true, true, above_}, metrics_,
                 figures_);
    for (const LineFigure& figure : figures_) block_.add_between(cursor_, step->first, figure);
    tell_figures(line);
  } else {
    EpochMark mark;
    mark.epoch = cursor_;
    mark.position = step->first;
    mark.within = true;
    mark.end = step->second;
    marked_line(line, mark);
  }
  header_only_ = header_only;
  return true;
}

/// Lists of epochs are a run of their own: the epochs may have been printed above as well.
void Segments::take_lists() {
  const std::vector<ValueList> lists = lists_.take();
  if (lists.empty() || cursor_ >= 0) return;
  if (!block_.empty()) end_block();
  for (const ValueList& list : lists) {
    if (list.metric == Metric::kOther) continue;
    for (std::size_t i = 0; i < list.values.size(); ++i) {
      const auto epoch = static_cast<std::int64_t>(i) + 1;
      block_.begin_epoch(epoch);
      block_.add(epoch, {list.kind, list.metric, 0, list.values[i], false, 0, false}, true);
    }
  }
  end_block();
}

bool Segments::list_line(const Line& line) {
  auto list = find_value_list(line.text, metrics_);
  if (!list) return false;
  if (!lists_.fits(*list)) take_lists();
  if (list->metric != Metric::kOther)
    tell(line, std::to_string(list->values.size()) + " values of " + list->name);
  lists_.add(std::move(*list));
  return true;
}

/// "Throughput: 5120.4 images/sec", "Training finished in 12.5 minutes" below "Using 4 GPUs": the
/// figures of a run that prints neither epochs nor steps.
bool Segments::summary_line() {
  const bool placed = std::any_of(scene_.begin(), scene_.end(), [](const Entry& entry) {
    return entry.fact.key >= FactKey::kWorldSize && entry.fact.key <= FactKey::kGlobalBatch;
  });
  std::erase_if(figures_, [](const LineFigure& figure) { return !Block::sums_up(figure); });
  if (!placed || figures_.empty()) return false;
  settle_pending(std::any_of(pending_.begin(), pending_.end(), [](const StatedFact& fact) {
    return fact.key <= FactKey::kGlobalBatch;
  }));
  for (const LineFigure& figure : figures_) block_.add_summary(figure);
  return true;
}

void Segments::plain_line(const Line& line) {
  figures_.clear();
  if (cursor_ >= 0 || last_step_ >= 0 || !scene_.empty())
    line_figures(line.text, line.text, {false, false, above_}, metrics_, figures_);
  if (const auto total = dashed_seconds(line.text))
    figures_.push_back(
        {LineFigure::Kind::kTotalTime, Metric::kEpochTime, 0, *total, false, 0, false});
  if (figures_.empty()) {
    const Split split = split_of(line.text);
    if (split == Split::kValidation || split == Split::kTrain) above_ = split;
    return;
  }
  if (went_back_ && cursor_ >= 0 && cursor_ <= block_.first_epoch()) {
    const bool conflict = std::any_of(figures_.begin(), figures_.end(), [&](const auto& figure) {
      return block_.conflicts(cursor_, figure);
    });
    if (conflict) {
      const std::int64_t here = cursor_;
      end_block();
      cursor_ = here;
      take_words_above();
      block_.begin_epoch(here);
    }
  }
  if (cursor_ < 0 && last_step_ < 0 && summary_line()) {
    tell_figures(line);
    return;
  }
  for (const LineFigure& figure : figures_) {
    const bool summary = figure.kind == LineFigure::Kind::kTotalTime ||
                         figure.kind == LineFigure::Kind::kMeanEpochTime;
    if (cursor_ < 0 && last_step_ >= 0 && !summary) {
      const bool validates =
          figure.metric == Metric::kValLoss || figure.metric == Metric::kValAccuracy;
      if (validates) block_.add_step(last_step_, figure);
      continue;
    }
    if (cursor_ < 0 && !summary) continue;
    block_.add(cursor_, figure);
  }
  tell_figures(line);
}

void Segments::message(const Line& line) {
  const std::string_view text = line.text;
  auto mark = find_epoch_mark(text);
  if (mark && !mark->within && contains(text, "Namespace(")) mark.reset();  // one of its settings
  if (!mark && cursor_ >= 0 && above_ != Split::kValidation) mark = find_bare_place(text, cursor_);
  if (mark && mark->within) {
    marked_line(line, *mark);
    whole_file_.time_of(text);
    return;
  }
  if (memory_ran_out(line)) return;
  if (!mark && step_below_epoch(line)) return;
  found_.clear();
  find_facts(text, found_);
  if (found_.empty() && !mark && is_like_heading(text, heading_)) {
    heading_ = printable(trim(text), 120);
    found_.push_back({FactKey::kHeading, 0, heading_});
  }
  if (after_separator_ && found_.empty() && !mark && text.size() < 100 && !is_separator(text) &&
      text.find_first_of("=|") == std::string_view::npos && contains(text, " ") &&
      is_letter(trim(text)[0]) &&
      contains_any<"unning", "raining", "xperiment", "uestion", "onfig">(text)) {
    heading_ = printable(trim(text), 120);
    found_.push_back({FactKey::kHeading, 0, heading_});
    const bool owned = contains_any<"vailable", "etected", "ound", "isible">(text);
    if (const auto gpus = owned ? std::nullopt : gpus_named_in(text))  // "Configuration: 4 GPUs"
      found_.push_back({FactKey::kDevices, *gpus, {}});
  }
  after_separator_ = is_separator(text);
  look_for_heading(text);
  if (const std::string_view words = words_between_rules(text); !words.empty() && !mark)
    words_above_ = printable(words);
  bool has_figures = mark.has_value();
  if (!found_.empty() && !has_figures && may_have_figures(text)) {
    figures_.clear();
    line_figures(text, text, {false, false, above_}, metrics_, figures_);
    std::size_t numbers = 0;
    for_each_figure(text, [&](const Figure&) { ++numbers; });
    // "Batch size: 32, Communication time for epoch: 7.3 s" is about the epoch above, no heading.
    // "Training ResNet18 for 20 epochs with learning rate 0.01" is a heading all the same.
    const bool rate_alone = !figures_.empty() && found_.front().key == FactKey::kHeading &&
                            std::all_of(figures_.begin(), figures_.end(), [](const auto& figure) {
                              return figure.metric == Metric::kLearningRate;
                            });
    has_figures = cursor_ >= 0 && !rate_alone && (!figures_.empty() || numbers > found_.size());
  }
  if (!found_.empty()) {
    state(found_, has_figures);
    std::string words;
    for (const StatedFact& fact : found_) {
      const std::string each = fact_words(fact);
      if (!contains(words, each)) words += (words.empty() ? "" : ", ") + each;
    }
    tell(line, words);
  }
  if (mark) {
    marked_line(line, *mark);
    whole_file_.time_of(text);
    return;
  }
  if (text.ends_with(']') && cursor_ < 0 && list_line(line)) return;
  if (cursor_ < 0 && may_have_figures(text)) {
    if (const auto step = find_step(text)) {
      step_line(line, step->first, step->second);
      return;
    }
  }
  whole_file_.line(text, -1);
  if (may_have_figures(text) || contains_any<"EST", "est", "VAL", "alid">(text)) plain_line(line);
}

std::vector<Block> Segments::finish() {
  settle_pending(false);
  take_lists();
  // A script may print only that its epochs began and how large they are.
  const bool sized = std::any_of(scene_.begin(), scene_.end(), [](const Entry& entry) {
    return entry.fact.key == FactKey::kSteps;
  });
  if (done_.empty() && sized) block_.keep_without_figures();
  end_block();
  settle_words_above();
  return std::move(done_);
}

}  // namespace lockstep::import
