#include "lockstep/display/json_sink.h"

#include <nlohmann/json.hpp>

#include "lockstep/report/render/estimate_text.h"

namespace lockstep::display {
namespace {

constexpr int kForecastVersion = 1;

nlohmann::json verdict_json(const predict::RunForecast::Mark& mark, double total_s) {
  nlohmann::json json{{"at", mark.part}, {"predicted_s", nullptr}};
  if (mark.predicted) {
    const predict::Estimate& predicted = *mark.predicted;
    json["step"] = mark.step;
    json["predicted_s"] = report::estimate_json(predicted);
    json["error"] = predicted.value / total_s - 1;
    json["within"] = predicted.low <= total_s && total_s <= predicted.high;
  }
  return json;
}

}  // namespace

void JsonSink::write(const record::Event& event) {
  if (const auto* started = std::get_if<record::RunStarted>(&event)) {
    forecast_.emplace(*started, clock_);
  }
  const auto* ended = std::get_if<record::RunEnded>(&event);
  if (forecast_ && ended != nullptr && ended->status == record::RunStatus::kDone) {
    show_verdict(ended->total_s);
  }
  console_.out(record::to_line(event));
  if (!forecast_) return;
  if (const auto* epoch = std::get_if<record::EpochResult>(&event)) forecast_->finish_epoch(*epoch);
  if (const auto* progress = std::get_if<record::Progress>(&event)) {
    forecast_->update(*progress);
    show_forecast();
  }
}

void JsonSink::show_forecast() {
  const auto total = forecast_->total();
  const auto remaining = forecast_->remaining();
  if (!total || !remaining) return;
  const nlohmann::json json{{"v", kForecastVersion},
                            {"type", "forecast"},
                            {"step", forecast_->steps_done()},
                            {"steps", forecast_->steps_in_all()},
                            {"warm_up_steps", forecast_->warm_up_steps()},
                            {"total_s", report::estimate_json(*total)},
                            {"remaining_s", report::estimate_json(*remaining)}};
  console_.out(json.dump());
}

void JsonSink::show_verdict(double total_s) {
  if (!(total_s > 0)) return;
  nlohmann::json marks = nlohmann::json::array();
  for (const predict::RunForecast::Mark& mark : forecast_->marks()) {
    marks.push_back(verdict_json(mark, total_s));
  }
  const nlohmann::json json{{"v", kForecastVersion},
                            {"type", "forecast_verdict"},
                            {"total_s", total_s},
                            {"marks", marks}};
  console_.out(json.dump());
}

}  // namespace lockstep::display
