#include "lockstep/display/run_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/report/render/estimate_text.h"

namespace lockstep::display {
namespace {

/// Leaves room for time, rate and loss on 80 columns.
constexpr int kBarWidth = 10;

}  // namespace

RunProgress::RunProgress(const record::RunStarted& started, const Clock& clock)
    : clock_(clock),
      forecast_(started, clock),
      epochs_(started.spec.epochs),
      steps_in_all_(forecast_.steps_in_all()) {
  now_.epoch = started.first_epoch;
  now_.steps_per_epoch = started.steps_per_epoch;
}

void RunProgress::update(const record::Progress& progress) {
  now_ = progress;
  forecast_.update(progress);
  updated_at_ = clock_.monotonic();
  if (!first_done_) {
    first_done_ = steps_done();
    first_at_ = updated_at_;
  }
}

std::int64_t RunProgress::steps_done() const {
  return (now_.epoch - 1) * now_.steps_per_epoch + now_.step;
}

double RunProgress::fraction() const {
  if (steps_in_all_ <= 0) return 0;
  return std::clamp(static_cast<double>(steps_done()) / static_cast<double>(steps_in_all_), 0.0,
                    1.0);
}

std::optional<Seconds> RunProgress::remaining() const {
  if (const auto rest = forecast_.remaining()) return Seconds(rest->value);
  if (!first_done_ || steps_done() <= *first_done_ || steps_in_all_ <= 0) return std::nullopt;
  const double elapsed_s = static_cast<double>(updated_at_ - first_at_) * 1e-9;
  const double per_step = elapsed_s / static_cast<double>(steps_done() - *first_done_);
  return Seconds(per_step *
                 static_cast<double>(std::max<std::int64_t>(0, steps_in_all_ - steps_done())));
}

std::int64_t RunProgress::steps_of_epoch() const {
  const std::int64_t rest = steps_in_all_ - (now_.epoch - 1) * now_.steps_per_epoch;
  return rest > 0 ? std::min(now_.steps_per_epoch, rest) : now_.steps_per_epoch;
}

std::string RunProgress::outlook() const {
  std::string text;
  if (const auto left = remaining()) text += "ETA " + format_seconds(*left) + "  ";
  text += format_count(std::llround(now_.examples_per_s)) + " examples/s";
  if (std::isfinite(now_.loss)) text += fmt::format("  loss {:.4f}", now_.loss);
  if (const auto total = forecast_.total()) {
    text += "  total " + report::time_with_interval(*total);
  }
  return text;
}

std::string RunProgress::bar() const {
  const int filled = static_cast<int>(fraction() * kBarWidth);
  std::string bar(static_cast<std::size_t>(filled), '=');
  if (filled < kBarWidth) bar += '>';
  bar.resize(kBarWidth, ' ');
  return fmt::format("epoch {}/{} [{}] {}/{}  {}", now_.epoch, epochs_, bar, now_.step,
                     steps_of_epoch(), outlook());
}

std::string RunProgress::line() const {
  return fmt::format("epoch {}/{} step {}/{}  {}", now_.epoch, epochs_, now_.step, steps_of_epoch(),
                     outlook());
}

}  // namespace lockstep::display
