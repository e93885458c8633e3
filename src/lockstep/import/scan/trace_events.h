#pragma once

#include <string>

#include "lockstep/import/scan/json_stream.h"

namespace lockstep::import {

/// One entry of a Chrome trace, as far as the readers use it. Times are microseconds, as the format
/// has them.
struct TraceEvent {
  char phase = 0;  ///< 'X' complete, 'B' and 'E' a pair, 'i' an instant, 'M' metadata
  std::string category;
  std::string name;
  double process = 0;
  double thread = 0;
  double start_us = 0;
  double duration_us = 0;
  std::string argument_name;   ///< args.name
  std::string argument_dtype;  ///< args.dtype
  std::string argument_shape;  ///< args.shape
};

/// Reads the rest of one event, whose kBeginObject was given last. `event` is reused. Arguments are
/// only looked at when `arguments` is set. False when the text ended inside.
bool read_trace_event(JsonStream& json, TraceEvent& event, bool arguments);

}  // namespace lockstep::import
