// SPDX-License-Identifier: MIT
#include "gallery/gallery.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "gallery/example_texts.hpp"

namespace vkf::tools {
namespace {

// Replaces the value of `const int NAME = VALUE;`, of any type.
void setConstant(std::string& text, const std::string& name, const std::string& value) {
    const std::string begin = " " + name + " = ";
    const size_t at = text.find(begin);
    if (at == std::string::npos)
        throw std::runtime_error("no constant " + name);
    const size_t first = at + begin.size();
    text.replace(first, text.find(';', first) - first, value);
}

VkfType typeOf(VkfElement element) {
    return element == VKF_ELEMENT_F16 ? VKF_TYPE_F16 : element == VKF_ELEMENT_BF16 ? VKF_TYPE_BF16 : VKF_TYPE_F32;
}

// The values as elements, filled up to whole words.
std::vector<std::byte> encoded(VkfElement element, const std::vector<double>& values) {
    constexpr size_t word = 4;
    std::vector<std::byte> bytes(values.size() * word, std::byte{0});
    size_t size = word;
    for (size_t i = 0; i < values.size(); i++) {
        if (element == VKF_ELEMENT_U8) {
            size = 1;
            bytes[i] = static_cast<std::byte>(static_cast<uint8_t>(values[i]));
        } else if (element == VKF_ELEMENT_I32) {
            const auto number = static_cast<int32_t>(values[i]);
            std::memcpy(&bytes[i * word], &number, word);
        } else {
            size = vkfTypeBytes(typeOf(element));
            vkfStoreElement(typeOf(element), bytes.data(), i, values[i]);
        }
    }
    bytes.resize((values.size() * size + word - 1) / word * word);
    return bytes;
}

std::vector<double> decoded(const ExampleArray& array, const std::vector<std::byte>& bytes) {
    std::vector<double> values = array.values;
    if (array.element != VKF_ELEMENT_I32 && array.element != VKF_ELEMENT_U8) {
        for (size_t i = 0; i < values.size(); i++)
            values[i] = vkfLoadElement(typeOf(array.element), bytes.data(), i);
    }
    return values;
}

functions::Source sourceOf(const Example& example) {
    ExampleGenerator random(1);
    functions::Source source{exampleText(example.file, example.constants), example.file, {}};
    for (const ExampleArray& array : example.arrays(random))
        source.arrays.push_back(functions::functionArray(array.name, array.element));
    return source;
}

} // namespace

double read(void* user, size_t array, int64_t i) {
    return static_cast<const ExampleContext*>(user)->arrays.at(array).at(static_cast<size_t>(i));
}

int64_t readInt(void* user, size_t array, int64_t i) { return static_cast<int64_t>(read(user, array, i)); }

double constant(void* user, size_t i) { return static_cast<const ExampleContext*>(user)->constants.at(i); }

int number(void* user, size_t i) { return static_cast<int>(constant(user, i)); }

std::vector<double> valuesOf(const ExampleConstants& constants) {
    std::vector<double> values;
    values.reserve(constants.size());
    for (const auto& [name, value] : constants)
        values.push_back(std::stod(value));
    return values;
}

Example exampleOf(const std::string& file) {
    for (const Example& example : examples()) {
        if (example.file == file)
            return example;
    }
    throw std::runtime_error("no example " + file);
}

std::vector<Example> examples() {
    std::vector<Example> all = exampleMasks();
    for (const Example& score : exampleScores())
        all.push_back(score);
    return all;
}

std::vector<double> normalValues(ExampleGenerator& random, size_t count) {
    std::normal_distribution<double> normal(0.0, 1.0);
    std::vector<double> values(count);
    for (double& value : values)
        value = normal(random);
    return values;
}

std::vector<double> wholeValues(ExampleGenerator& random, size_t count, int64_t first, int64_t last) {
    std::uniform_int_distribution<int64_t> uniform(first, last);
    std::vector<double> values(count);
    for (double& value : values)
        value = static_cast<double>(uniform(random));
    return values;
}

std::string exampleText(const std::string& file, const ExampleConstants& constants) {
    const auto* const found = std::find_if(std::begin(exampleTexts), std::end(exampleTexts),
                                           [&file](const ExampleText& example) { return example.file == file; });
    if (found == std::end(exampleTexts))
        throw std::runtime_error("no file " + file);
    std::string text = found->text;
    for (const auto& [name, value] : constants)
        setConstant(text, name, value);
    return text;
}

CompiledExample::CompiledExample(const Example& example, uint32_t seed)
    : formulas_(example.formulas), functions_(functions::compile(sourceOf(example))) {
    ExampleGenerator random(seed);
    for (const ExampleArray& array : example.arrays(random)) {
        arrays_.push_back(encoded(array.element, array.values));
        context_.arrays.push_back(decoded(array, arrays_.back()));
    }
    context_.constants = valuesOf(example.constants);
    formulas_.user = &context_;
}

CompiledExample::CompiledExample(const std::string& text, const VkfReferenceFunctions& formulas)
    : formulas_(formulas), functions_(functions::compile({text, "functions.glsl", {}})) {}

} // namespace vkf::tools
