internal import EngineAPI
internal import ModelFacts

/// Determines the meaning of the outputs: labels, and whether the values are probabilities.
extension FactPlanner {
    /// The description of the outputs as plain tensors.
    func plainLayers() -> [ModelManifest.Layer] {
        outputs.enumerated().map { index, port in
            ModelManifest.Layer(
                path: "outputs[\(index)]", name: port.name.isEmpty ? "output_\(index)" : port.name, kind: .array,
                elementType: port.elementType, shape: port.shape)
        }
    }

    func outputLayers(
        _ sheet: FactSheet, _ provenance: inout ModelProvenance, _ result: inout Result
    ) -> [ModelManifest.Layer] {
        var layers = plainLayers()
        guard let place = labelledOutput(sheet, &provenance, &result), let labels = result.labels else { return layers }
        let port = outputs[place]
        if !port.elementType.isFloatingPoint {
            guard let quantization = sheet.outputQuantization(place) else {
                provenance.leaveOpen("dequantize", "the scale and zero point of the output (\"dequantize\")")
                return layers
            }
            let (scale, bias) = (quantization.value.scale, quantization.value.bias)
            layers[place].linear = .scaleThenBias(scale: scale, bias: bias)
            provenance.note("dequantize.scale", "\(scale)", quantization.source, quantization.key)
            provenance.note("dequantize.bias", "\(bias)", quantization.source, quantization.key)
        }
        guard let ending = result.ending else {
            provenance.leaveOpen("activation", "whether the output is probabilities or logits (\"activation\")")
            return layers
        }
        layers[place].labels = labels
        if let confidence = sheet.confidence {
            provenance.remarks.append(
                "threshold: \(confidence.source) (\(confidence.key)) says \(confidence.value); /classify uses the \"threshold\" of the query, by default 0"
            )
        }
        if ending.value == .none {
            let isMulti = sheet.multiLabel?.value ?? false
            layers[place].activation = isMulti ? .sigmoid : .softmax
            provenance.note(
                "activation", isMulti ? "\"sigmoid\"" : "\"softmax\"",
                isMulti ? sheet.multiLabel?.source ?? ending.source : ending.source,
                isMulti ? sheet.multiLabel?.key ?? ending.key : "\(ending.key), which is neither Softmax nor Sigmoid")
        } else {
            provenance.note(
                "activation", "null", ending.source,
                "\(ending.key), \(ending.value == .softmax ? "Softmax" : "Sigmoid")")
        }
        return layers
    }

    /// The index of the output with one value for each label; sets the labels of the result.
    private func labelledOutput(
        _ sheet: FactSheet, _ provenance: inout ModelProvenance, _ result: inout Result
    ) -> Int? {
        // One value for each class; all other axes have extent 1.
        func classes(_ port: TensorPort) -> Int? {
            let extents = port.shape.dimensions.dropFirst(port.shape.dimensions.count > 1 ? 1 : 0).filter { $0 != 1 }
            return extents.count == 1 && extents[0] > 1 ? extents[0] : nil
        }
        let candidates = outputs.indices.filter { classes(outputs[$0]) != nil }
        var labels: Fact<[String]>?
        var place: Int?
        var wrong: [String] = []
        let files = Set(facts.labelFiles.map(\.file))
        for stated in self.labels(sheet) where labels == nil || stated != sheet.placeholderLabels {
            var fact = stated
            // A source that omits the first class also states its name.
            if let spare = sheet.backgroundLabel, spare.source == stated.source,
                candidates.contains(where: { classes(outputs[$0]) == stated.value.count + 1 }),
                !candidates.contains(where: { classes(outputs[$0]) == stated.value.count })
            {
                fact = Fact([spare.value] + stated.value, source: stated.source, key: "\(stated.key); \(spare.key)")
            }
            if let index = candidates.first(where: { classes(outputs[$0]) == fact.value.count }) {
                (labels, place) = (labels ?? fact, place ?? index)
                if labels?.source == fact.source, files.contains(fact.source) { result.labelFile = fact.source }
                if let labels, labels.source != fact.source, labels.value != fact.value {
                    provenance.remarks.append(
                        "labels: \(labels.source) and \(fact.source) name the classes differently; \(labels.source) wins"
                    )
                }
            } else {
                wrong.append("\(fact.source) has \(fact.value.count) labels")
            }
        }
        result.scoredOutput = place ?? candidates.first
        result.ending = result.scoredOutput.flatMap { ending(sheet, outputs[$0]) }
        result.outputQuantization = result.scoredOutput.flatMap { sheet.outputQuantization($0) }?.value
        guard let labels, let place else {
            let counts = candidates.compactMap { classes(outputs[$0]) }
            guard let count = counts.first else {
                provenance.leaveOpen("labels", "what its outputs mean")
                return nil
            }
            provenance.leaveOpen("labels", openMeaning(sheet, counts: Set(counts), first: count, wrong, result.ending))
            return nil
        }
        result.labels = labels.value
        result.labelledOutput = place
        if !wrong.isEmpty {
            provenance.remarks.append(
                "labels: the output has \(labels.value.count) classes, but \(wrong.joined(separator: ", "))")
        }
        provenance.note(
            "labels", labels.value.count > 5 ? "\(labels.value.count)" : labels.value.jsonText, labels.source,
            labels.key)
        return place
    }

    /// The sentence on the undecided meaning of outputs that seem to have a number for each class.
    private func openMeaning(
        _ sheet: FactSheet, counts: Set<Int>, first count: Int, _ wrong: [String], _ ending: Fact<GraphEnding>?
    ) -> String {
        if !wrong.isEmpty { return "the labels of the \(count) classes (\"labels\"): \(wrong.joined(separator: ", "))" }
        let isKnown = sheet.task?.value == "classify" || ending.map { $0.value != .none } ?? false
        if isKnown, counts.count == 1 { return "the labels of the \(count) classes (\"labels\")" }
        guard outputs.count == 1 else { return "what its \(outputs.count) outputs mean (\"type\" of each)" }
        return
            "what the \(count) values of its output are: scores of classes (\"labels\"), or an embedding (\"type\": \"embedding\")"
    }

    /// The last operation of the labelled output: from the graph, or from the name that Hugging Face's exporters use.
    private func ending(_ sheet: FactSheet, _ port: TensorPort) -> Fact<GraphEnding>? {
        let known = sheet.endings.first { $0.output.split(separator: ",").contains { $0 == port.name } }
        if let ending = known?.fact ?? (outputs.count == 1 ? sheet.ending : nil) { return ending }
        if port.name == "logits" || port.name.hasSuffix("/logits") {
            return Fact(.none, source: file, key: "the output's name \"\(port.name)\"")
        }
        return sheet.usualEnding
    }
}

extension [String] {
    /// The strings as a JSON array.
    var jsonText: String { "[" + map(\.jsonText).joined(separator: ", ") + "]" }
}
