#pragma once

#include "lockstep/record/event.h"

namespace lockstep::record {

/// Takes the events of one run in their order: the store, the display, the JSON stream.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual void write(const Event& event) = 0;
};

}  // namespace lockstep::record
