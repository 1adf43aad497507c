// SPDX-License-Identifier: MIT
//
// A compiled example of the gallery, for calls under test.
#pragma once

#include <string>

#include "gallery/gallery.hpp"
#include "support/call.hpp"

namespace vkf::test {

namespace gallery = tools::gallery;
using tools::Example;
using tools::examples;

class CompiledExample {
public:
    explicit CompiledExample(const Example& example) : compiled_(example) {
        own_.arrays = compiled_.arrays();
        own_.reference = compiled_.formulas();
    }
    // From a text instead of a file.
    CompiledExample(const std::string& text, const VkfReferenceFunctions& formulas) : compiled_(text, formulas) {
        own_.reference = formulas;
    }

    // Makes the problem and its inputs use the functions. They point into this object.
    void use(VkfProblem& problem, Data& data) const {
        enable(problem, VKF_USE_FUNCTIONS);
        problem.functions = compiled_.handle();
        data.functions = &own_;
    }

private:
    tools::CompiledExample compiled_;
    OwnFunctions own_;
};

} // namespace vkf::test
