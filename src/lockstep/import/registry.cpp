#include "lockstep/import/registry.h"

#include <fmt/format.h>

#include <string>

#include "lockstep/base/error.h"
#include "lockstep/import/readers/readers.h"

namespace lockstep::import {

Registry::Registry() {
#define LOCKSTEP_ADD_READER(name) readers_.push_back(make_##name##_reader());
#define LOCKSTEP_ADD_NESTED(name) readers_.push_back(make_##name##_reader(readers_));
#define LOCKSTEP_ADD_FORMAT(name) readers_.push_back(std::make_unique<LogReader>(name##_format()));
#define LOCKSTEP_ADD_FORMATS(name)                 \
  for (const LogFormat& format : name##_formats()) \
    readers_.push_back(std::make_unique<LogReader>(format));
  LOCKSTEP_READERS(LOCKSTEP_ADD_READER, LOCKSTEP_ADD_NESTED, LOCKSTEP_ADD_FORMAT,
                   LOCKSTEP_ADD_FORMATS)
#undef LOCKSTEP_ADD_READER
#undef LOCKSTEP_ADD_NESTED
#undef LOCKSTEP_ADD_FORMAT
#undef LOCKSTEP_ADD_FORMATS
}

const Reader& Registry::named(std::string_view name) const {
  std::string names;
  for (const auto& reader : readers_) {
    if (reader->name() == name) return *reader;
    names += (names.empty() ? "" : ", ") + std::string(reader->name());
  }
  throw Error(ErrorKind::kUsage, fmt::format("unknown format '{}'", name),
              "choose one of " + names);
}

Recognition Registry::recognise(const Sample& sample) const {
  Recognition found;
  Match sure = Match::kNo;
  for (const auto& reader : readers_) {
    const Match match = reader->recognise(sample);
    if (match > sure) {
      found.reader = reader.get();
      sure = match;
    } else if (match == Match::kCertain) {
      found.others.push_back(reader.get());
    }
  }
  return found;
}

}  // namespace lockstep::import
