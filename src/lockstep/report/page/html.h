#pragma once

#include <string>

#include "lockstep/report/page/page.h"

namespace lockstep::report {

/// One file that shows the page in any browser: no network, nothing beside it. Throws kEnvironment
/// in a program that was built without Node.
std::string page_html(const Page& page);

/// The page without data, which asks the server it came from.
std::string live_html();

/// What live_html() may do, for the header of the answer that carries it.
std::string live_policy();

}  // namespace lockstep::report
