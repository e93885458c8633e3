#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "lockstep/record/choice_names.h"

namespace lockstep::record {

template <class T>
inline constexpr bool kIsChoice = Choice<T>;
template <Choice Enum>
inline constexpr bool kIsChoice<std::optional<Enum>> = true;

/// Each record lists its fields once, in a visit function; these two use that list to write and
/// read. A field that is absent on reading keeps the value it has; a number that is not
/// finite is written as null and read as NaN. Choices are written by name, "" for an absent one.
struct FieldWriter {
  nlohmann::json& json;

  template <class T>
  void operator()(const char* name, const T& value) const {
    if constexpr (kIsChoice<T>) {
      json[name] = name_of(value);
    } else {
      json[name] = value;
    }
  }
};

template <Choice Enum>
void read_choice(const std::string& name, Enum& value) {
  value = recorded_choice<Enum>(name);
}
template <Choice Enum>
void read_choice(const std::string& name, std::optional<Enum>& value) {
  value = name.empty() ? std::nullopt : std::optional(recorded_choice<Enum>(name));
}

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
    if constexpr (kIsChoice<T>) {
      read_choice(found->template get_ref<const std::string&>(), value);
    } else {
      found->get_to(value);
    }
  }
};

}  // namespace lockstep::record
