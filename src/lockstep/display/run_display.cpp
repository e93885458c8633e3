#include "lockstep/display/run_display.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/base/terminal/terminal.h"
#include "lockstep/base/units.h"
#include "lockstep/display/forecast_lines.h"
#include "lockstep/report/phase_table.h"
#include "lockstep/report/render/estimate_text.h"
#include "lockstep/report/run_tables.h"

namespace lockstep::display {
namespace {

/// Between progress lines if there is no terminal for a bar.
constexpr Nanoseconds kLineInterval = 10'000'000'000;
/// Part of a run from which on its warm-up is worth a line.
constexpr double kVisibleWarmUp = 0.002;

std::string metric(double value) {
  return std::isfinite(value) ? fmt::format("{:.4f}", value) : "-";
}

/// "235 steps per epoch", and after how many the run ends if that is earlier.
std::string steps_text(const record::RunStarted& started) {
  const std::int64_t limit = started.spec.max_steps;
  const std::string stop =
      limit > 0 ? fmt::format(", stops after {}", counted(limit, "step")) : std::string();
  return counted(started.steps_per_epoch, "step") + " per epoch" + stop;
}

/// ", overlapped gradients over shm"; one worker has nobody to exchange them with.
std::string exchange_text(const record::RunSpec& spec) {
  if (spec.workers == 1) return "";
  return fmt::format(
      ", {} gradients over {}",
      spec.strategy == record::Strategy::kOverlap ? "overlapped" : record::name_of(spec.strategy),
      record::name_of(spec.backend));
}

std::string headline(const record::RunStarted& started) {
  const record::RunSpec& spec = started.spec;
  const std::string skipped =
      spec.data.skipped > 0 ? fmt::format(" ({} skipped)", counted(spec.data.skipped, "file")) : "";
  return fmt::format("{} on {}{}: {} + {} examples{}, {} parameters\n", spec.recipe, spec.data.name,
                     spec.data.synthetic ? " (synthetic data)" : "",
                     format_count(spec.data.train_examples), format_count(spec.data.val_examples),
                     skipped, format_count(spec.parameters)) +
         fmt::format("{} x {}, b = {}, B = {}, {}{}\n", counted(spec.workers, "worker"),
                     counted(spec.threads_per_worker, "thread"), spec.batch_per_worker,
                     spec.global_batch(), steps_text(started), exchange_text(spec));
}

constexpr char kEpochHeader[] =
    "  epoch  train loss  train acc  val loss   val acc  examples/s  train s  val s";

/// If a recipe has its own figures, they replace loss and accuracy.
std::string epoch_header(const record::EpochResult& epoch) {
  if (epoch.metrics.empty()) return kEpochHeader;
  std::string header = "  epoch";
  for (const auto& [name, value] : epoch.metrics) header += fmt::format("  {:>10}", name);
  return header + "  examples/s  train s";
}

std::string metrics_line(const record::EpochResult& epoch, int epochs) {
  std::string line = fmt::format("{:>7}", fmt::format("{}/{}", epoch.epoch, epochs));
  for (const auto& [name, value] : epoch.metrics) line += fmt::format("  {:>10}", metric(value));
  return line + fmt::format("  {:>10}  {:>7.2f}", format_count(std::llround(epoch.examples_per_s)),
                            epoch.train_s);
}

std::string epoch_line(const record::EpochResult& epoch, int epochs) {
  if (!epoch.metrics.empty()) return metrics_line(epoch, epochs);
  return fmt::format("{:>7}  {:>10}  {:>9}  {:>8}  {:>8}  {:>10}  {:>7.2f}  {:>5.2f}",
                     fmt::format("{}/{}", epoch.epoch, epochs), metric(epoch.train_loss),
                     metric(epoch.train_accuracy), metric(epoch.val_loss),
                     metric(epoch.val_accuracy), format_count(std::llround(epoch.examples_per_s)),
                     epoch.train_s, epoch.val_s);
}

}  // namespace

std::vector<std::string> timing_warnings(const record::RunStarted& started) {
  std::vector<std::string> warnings;
  const record::Machine& machine = started.machine;
  if (started.spec.oversubscribed) {
    warnings.push_back(fmt::format(
        "{} x {} on {}: timings are unreliable", counted(started.spec.workers, "worker"),
        counted(started.spec.threads_per_worker, "thread"), counted(machine.cores, "core")));
  }
  if (machine.governor == "powersave") {
    warnings.push_back(
        "the CPU frequency governor is 'powersave': timings vary; see lockstep doctor");
  }
  return warnings;
}

void RunDisplay::write(const record::Event& event) {
  std::visit([this](const auto& e) { on(e); }, event);
}

void RunDisplay::on(const record::RunStarted& event) {
  started_ = event;
  progress_.emplace(event, clock_);
  breakdown_.emplace(event.spec.workers);
  line_at_ = clock_.monotonic();
  console_.out(headline(event));
  if (event.first_epoch > 1) console_.out(fmt::format("resumed in epoch {}", event.first_epoch));
  for (const std::string& warning : timing_warnings(event)) console_.err("warning: " + warning);
}

void RunDisplay::on(const record::Progress& event) {
  if (!progress_) return;
  progress_->update(event);
  show_first_forecast();
  if (console_.terminal()) {
    console_.set_status(progress_->bar());
  } else if (clock_.monotonic() - line_at_ >= kLineInterval) {
    line_at_ = clock_.monotonic();
    console_.err(progress_->line());
  }
}

void RunDisplay::on(const record::StepBlock& event) {
  if (breakdown_) breakdown_->add(event);
}

void RunDisplay::on(const record::EpochResult& event) {
  if (!header_shown_) console_.out(epoch_header(event));
  header_shown_ = true;
  if (progress_) progress_->finish_epoch(event);
  console_.out(epoch_line(event, started_ ? started_->spec.epochs : event.epoch));
  last_epoch_ = event;
}

void RunDisplay::on(const record::UtilisationBlock& event) {
  utilisation_.insert(utilisation_.end(), event.samples.begin(), event.samples.end());
}

void RunDisplay::on(const record::CheckpointWritten& event) {
  console_.err(fmt::format("checkpoint of step {} in {}", event.step, event.path));
}

void RunDisplay::on(const record::RunEnded& event) {
  console_.clear_status();
  if (!started_) return;
  // After a failure the error is what matters; what was measured is in the store.
  if (event.status != record::RunStatus::kFailed) show_times();
  const bool done = event.status == record::RunStatus::kDone;
  std::string summary =
      fmt::format("started {}, {} {}, total {}", format_local_time(started_->started_wall_ns),
                  done ? "ended" : record::status_name(event.status),
                  format_local_time(event.ended_wall_ns), format_seconds(Seconds(event.total_s)));
  if (event.peak_memory_bytes > 0) {
    summary += ", peak memory per worker " +
               format_bytes({static_cast<std::uint64_t>(event.peak_memory_bytes)});
  }
  console_.out(summary);
  if (done) show_forecast_verdict(event.total_s);
  for (const std::string& warning : timing_warnings(*started_)) console_.out("note: " + warning);
  if (const std::string used = record::disturbance(event); !used.empty()) {
    console_.out(fmt::format("note: other programs used {}: the times may be too long", used));
  }
}

void RunDisplay::show_first_forecast() {
  if (forecast_shown_ || console_.terminal()) return;
  const auto total = progress_->forecast().total();
  if (!total) return;
  forecast_shown_ = true;
  const predict::RunForecast& forecast = progress_->forecast();
  console_.err(fmt::format("predicted total after step {} of {}: {}", forecast.steps_done(),
                           forecast.steps_in_all(), report::time_with_interval(*total)));
}

void RunDisplay::show_forecast_verdict(double total_s) {
  const predict::RunForecast& forecast = progress_->forecast();
  for (const std::string& line : forecast_lines(forecast, total_s)) console_.out(line);
  if (forecast.warm_up_steps() > 0 && forecast.warm_up_cost_s() > kVisibleWarmUp * total_s) {
    console_.out(
        fmt::format("warm-up: the first {} took {} longer than the same number of steady ones",
                    counted(forecast.warm_up_steps(), "step"),
                    format_seconds(Seconds(forecast.warm_up_cost_s()))));
  }
}

void RunDisplay::show_times() {
  const analyze::StepBreakdown breakdown = breakdown_->result();
  if (breakdown.ranks.empty()) return;
  report::RenderOptions options;
  options.width = terminal_width();
  console_.out("\n" +
               report::render(report::phase_table(breakdown), report::Format::kText, options));
  if (const auto sentence = report::slowest_rank_sentence(breakdown); !sentence.empty()) {
    console_.out(sentence);
  }
  if (!utilisation_.empty()) {
    console_.out("\n" + report::render(report::utilisation_table(utilisation_),
                                       report::Format::kText, options));
  }
  show_noise_scale();
}

void RunDisplay::show_noise_scale() {
  if (!last_epoch_) return;
  const std::string sentence =
      report::noise_scale_sentence(*last_epoch_, started_->spec.global_batch());
  if (!sentence.empty()) console_.out(sentence);
}

}  // namespace lockstep::display
