#pragma once

#include <nlohmann/json.hpp>

namespace lockstep::record {

/// Each record lists its fields once, in a visit function; these two turn that list into writing
/// and reading. A field that is absent on reading keeps the value it has; a number that is not
/// finite is written as null and read as NaN.
struct FieldWriter {
  nlohmann::json& json;

  template <class T>
  void operator()(const char* name, const T& value) const {
    json[name] = value;
  }
};

struct FieldReader {
  const nlohmann::json& json;

  template <class T>
  void operator()(const char* name, T& value) const {
    const auto found = json.find(name);
    if (found == json.end()) return;
    if constexpr (std::is_floating_point_v<T>) {
      if (found->is_null()) {
        value = std::numeric_limits<T>::quiet_NaN();
        return;
      }
    }
    found->get_to(value);
  }
};

}  // namespace lockstep::record
