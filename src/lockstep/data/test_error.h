#pragma once

#include <gtest/gtest.h>

#include <string>

#include "lockstep/base/error.h"

namespace lockstep::data {

/// The message of the kData error that `action` throws; "" and a failure of the test otherwise.
template <class Action>
std::string data_error(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace lockstep::data
