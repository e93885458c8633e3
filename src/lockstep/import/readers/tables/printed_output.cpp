#include "lockstep/import/readers/tables/printed_output.h"

#include "lockstep/base/error.h"
#include "lockstep/import/scan/line_source.h"

namespace lockstep::import {

const Reader* read_printed(const std::string& text, const std::string& name,
                           const std::vector<std::unique_ptr<Reader>>& readers, Match enough,
                           ImportSink& found) {
  const std::string plain = without_escapes(text);
  const Reader* chosen = nullptr;
  Match sure = Match::kNo;
  for (const auto& reader : readers) {
    const Match match = reader->recognise({plain, true, name});
    if (match < enough || match <= sure) continue;
    chosen = reader.get();
    sure = match;
  }
  if (chosen == nullptr) return nullptr;
  Input input(name, bytes_in_memory(text));
  try {
    chosen->read(input, found);
  } catch (const Error&) {
    return nullptr;  // it looked like a format and had nothing of it
  }
  return chosen;
}

void add_printed_times(const std::string& text, const std::string& name,
                       const std::vector<std::unique_ptr<Reader>>& readers, ImportedRun& run) {
  ImportSink printed;
  if (text.empty() || read_printed(text, name, readers, Match::kPossible, printed) == nullptr)
    return;
  if (printed.runs().size() != 1) return;
  ImportedRun& shown = printed.runs().front();
  run.out_of_memory = run.out_of_memory || shown.out_of_memory;
  if (run.failure.empty()) run.failure = shown.failure;
  if (run.step_time.empty() && !shown.step_time.empty()) {
    run.step_time = shown.step_time;
    run.notes["step_time"] = "median of what the program printed";
  }
  if (run.throughput.empty()) run.throughput = shown.throughput;
  if (!run.device && shown.device) run.device = shown.device;
  if (!run.workers && shown.workers) run.workers = shown.workers;
}

}  // namespace lockstep::import
