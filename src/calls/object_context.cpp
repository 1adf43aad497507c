// SPDX-License-Identifier: MIT
#include "calls/object_context.hpp"

#include "calls/context.hpp"

namespace vkf {

ObjectContext::ObjectContext(VkfContext context) : context_(context) {
    if (context != nullptr && context->objects.areCounted()) {
        living_ = &context->objects;
        living_->add();
    }
}

ObjectContext::~ObjectContext() {
    if (living_ != nullptr) {
        living_->remove();
    }
}

} // namespace vkf
