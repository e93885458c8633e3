#include <algorithm>

#include "lockstep/import/readers/transcript/segments.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kLongestTold = 4096;
constexpr std::size_t kMostBars = 64;

/// Where the message begins behind "2025-10-19 23:10:35 - src.training.train - INFO - ": the name
/// of the logger is no word about the figures. 0 where the line has no such front.
std::size_t message_begin(std::string_view text) {
  constexpr std::size_t kFarthest = 160;
  const std::string_view front = text.substr(0, kFarthest);
  // A date is at the front, or a bar that was not finished.
  const bool dated = !text.empty() && (is_digit(text[0]) || text[0] == '[');
  if (!dated && front.find('|') == std::string_view::npos) return 0;
  if (!contains_any<"INFO", "DEBUG", "WARNING">(front)) return 0;
  for (const std::string_view level : {"INFO", "DEBUG", "WARNING"}) {
    const std::size_t at = front.find(level);
    if (at == std::string_view::npos || at == 0 || is_letter(text[at - 1])) continue;
    const std::size_t next = text.find_first_not_of(" -:]|", at + level.size());
    const bool names = split_of(front.substr(0, at)) != Split::kNone;
    if (names && next != std::string_view::npos && next > at + level.size()) return next;
  }
  return 0;
}

}  // namespace

/// Whether the bar was seen before the present epoch began: it is of the whole run then.
bool Segments::spans_epochs(const TqdmBar& bar) {
  const auto known = bars_.find(bar.of);
  const bool first = known == bars_.end();
  // A finished bar may be drawn again, or be the next one.
  const bool again =
      !first && known->second.done >= bar.of && !(known->second.spans && bar.finished());
  if (first || bar.done < known->second.done || again) {
    if (first && bars_.size() >= kMostBars) bars_.clear();
    bars_[bar.of] = {bar.done, cursor_, false};
    return false;
  }
  known->second.done = bar.done;
  known->second.spans = known->second.spans || known->second.epoch != cursor_;
  return known->second.spans;
}

bool Segments::progress_bar(const Line& line, const TqdmBar& bar) {
  const auto labelled = find_epoch_mark(bar.label);
  if (labelled) {
    settle_pending(restarts(labelled->epoch));
    if (restarts(labelled->epoch) && labelled->epoch < cursor_ && !block_.empty()) end_block();
    cursor_ = labelled->epoch;
    block_.begin_epoch(cursor_);
    if (labelled->planned > 0) put({FactKey::kEpochs, labelled->planned, {}});
  }
  const bool spans = spans_epochs(bar);
  if (!bar.finished()) return true;
  const std::string label = lower(bar.label);
  const bool validates = contains_any<"val", "test", "sanity", "download">(label);
  if (!validates && !spans && bar.elapsed_s > 0) {
    if (cursor_ >= 0 && (labelled || header_only_)) {
      block_.add_bar(cursor_, bar.elapsed_s, bar.of);
      header_only_ = false;
    } else if (!held_bar_) {
      held_bar_ = bar;
      held_bar_->label = {};
      held_bar_->figures = {};
      held_bar_->rest = {};
    }
  }
  if (cursor_ < 0) return true;
  figures_.clear();
  const std::string shown = (validates ? "val " : "") + std::string(bar.figures);
  line_figures(bar.figures, validates ? std::string_view(shown) : bar.figures,
               {true, false, above_}, metrics_, figures_);
  for (const LineFigure& figure : figures_) {
    if (figure.kind == LineFigure::Kind::kCell) block_.replace(cursor_, figure);
  }
  tell_figures(line);
  return true;
}

void Segments::line(const Line& line) {
  const std::string_view text = line.text;
  if (text.size() > kLongestTold || text.starts_with("wandb:")) return;
  if (text.find('<') != std::string_view::npos) {
    if (const auto bar = find_tqdm_bar(text)) {
      progress_bar(line, *bar);
      if (trim(bar->rest).size() > 1) {
        Line behind = line;
        behind.text = trim(bar->rest);
        this->line(behind);
      }
      return;
    }
  }
  if (const std::size_t begin = message_begin(text); begin > 0) {
    whole_file_.time_of(text);
    Line message = line;
    message.text = text.substr(begin);
    this->message(message);
    return;
  }
  message(line);
}

}  // namespace lockstep::import
