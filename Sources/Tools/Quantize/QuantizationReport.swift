internal import Inference
internal import JSON
internal import Rollout
internal import Settings
internal import SystemSupport

/// The comparison of the quantized model with the original, on pictures that were not used to make it.
package struct QuantizationReport: Sendable {
    /// Both models' answers to one picture.
    package struct Pair: Sendable {
        package let picture: CalibrationPictures.Picture
        package let before: Answer, after: Answer

        package init(picture: CalibrationPictures.Picture, before: Answer, after: Answer) {
            self.picture = picture
            self.before = before
            self.after = after
        }
    }

    /// A model's answer: confidences by class, or all outputs as numbers if it has no classes.
    package struct Answer: Sendable {
        package var label: String?
        package var values: [Double] = []
        /// The time in the engine, in nanoseconds.
        package var time: UInt64 = 0

        package init() {}
    }

    /// The times of both models in the engine for one picture, in nanoseconds.
    package struct Times: Sendable {
        package let before: UInt64, after: UInt64

        package init(before: UInt64, after: UInt64) { (self.before, self.after) = (before, after) }
    }

    package var name = ""
    package var pairs: [Pair] = []
    /// The times of the runs, in turn.
    package var times: [Times] = []
    /// The sizes of the model files in bytes.
    package var sizeBefore = 0, sizeAfter = 0
    package var outcome: QuantizerProcess.Outcome
    package var calibration = 0, validation = 0
    /// The classes of the model.
    package var labels: [String]?

    package init(_ outcome: QuantizerProcess.Outcome) { self.outcome = outcome }

    /// The share of pictures with the same first label, 0 to 1; for a model without classes, the mean cosine of the
    /// outputs.
    package var agreement: Double {
        guard !pairs.isEmpty else { return 0 }
        let shares = pairs.map { pair in
            labels == nil
                ? Self.cosine(pair.before.values, pair.after.values) : pair.before.label == pair.after.label ? 1 : 0
        }
        return shares.reduce(0, +) / Double(pairs.count)
    }

    /// The largest and the mean difference of a confidence, or of an output relative to its largest value.
    package var difference: (largest: Double, mean: Double) {
        var largest = 0.0, sum = 0.0, count = 0.0
        for pair in pairs {
            let scale = labels == nil ? max(pair.before.values.map(abs).max() ?? 0, 1e-30) : 1
            for (a, b) in zip(pair.before.values, pair.after.values) {
                largest = max(largest, abs(a - b) / scale)
                sum += abs(a - b) / scale
                count += 1
            }
        }
        return (largest, count > 0 ? sum / count : 0)
    }

    /// The numbers of pictures that were answered with their own label, among those whose folder is the name or the
    /// index of a class; nil without such pictures.
    package var accuracy: (before: Int, after: Int, of: Int)? {
        guard let labels else { return nil }
        let known = Set(labels.map { $0.lowercased() })
        var result = (before: 0, after: 0, of: 0)
        for pair in pairs {
            guard let folder = pair.picture.folder else { continue }
            let label: String
            if known.contains(folder.lowercased()) {
                label = folder.lowercased()
            } else if let index = Int(folder), labels.indices.contains(index) {
                label = labels[index].lowercased()
            } else {
                continue
            }
            result.of += 1
            result.before += pair.before.label?.lowercased() == label ? 1 : 0
            result.after += pair.after.label?.lowercased() == label ? 1 : 0
        }
        return result.of > 0 ? result : nil
    }

    /// The medians of the time in the engine, in milliseconds.
    package var milliseconds: (before: Double, after: Double) {
        (Self.median(times.map(\.before)), Self.median(times.map(\.after)))
    }

    /// The speed of the quantized model in the engine, as a multiple of the original's; nil if nothing was timed.
    package var speed: Double? {
        let (before, after) = milliseconds
        return after > 0 ? before / after : nil
    }

    /// A sentence about a result that is not faster; nil for a faster one. Less than a twentieth is within what runs of
    /// the same model differ by.
    private var slowness: String? {
        guard let speed, speed < 1.05 else { return nil }
        return "the result is \(speed < 0.95 ? "slower than" : "not faster than") the original on this machine, "
            + "\(Units.decimal(speed, places: 2)) times as fast: keep the original"
            + (sizeAfter < sizeBefore ? ", unless the size of the file counts" : "")
    }

    private static func median(_ times: [UInt64]) -> Double {
        let sorted = times.sorted()
        return sorted.isEmpty ? 0 : Double(sorted[sorted.count / 2]) / 1e6
    }

    /// The cosine of the outputs; 0 if one has numbers that are not finite.
    private static func cosine(_ a: [Double], _ b: [Double]) -> Double {
        let cosine = Agreement.cosine(a, b)
        return cosine.isNaN ? 0 : cosine
    }

    // MARK: Text

    package var text: String {
        let (before, after) = milliseconds
        let difference = difference
        var lines = [
            "\(name): \(outcome.layers - outcome.float.count) of \(outcome.layers) layers with weights run in integers"
        ]
        if !outcome.float.isEmpty {
            let rest = outcome.float.count > 10 ? " and \(outcome.float.count - 10) more" : ""
            lines.append("  in float: \(outcome.float.prefix(10).joined(separator: ", "))\(rest)")
        }
        lines.append(
            "pictures: \(calibration) to calibrate, \(validation > 0 ? "\(validation) to choose layers, " : "")\(pairs.count) to "
                + "compare, which were not used before")
        lines.append(Self.columns(["", "before", "after", ""]))
        let share = Units.decimal(agreement * 100, places: 1)
        if labels == nil {
            lines.append(Self.columns(["cosine of the outputs", "", Units.decimal(agreement, places: 4), ""]))
        } else {
            lines.append(Self.columns(["same first label", "", "\(share)%", "of \(pairs.count)"]))
        }
        if let accuracy {
            func percent(_ count: Int) -> String {
                Units.decimal(Double(count) / Double(accuracy.of) * 100, places: 1) + "%"
            }
            lines.append(
                Self.columns([
                    "label of the folder", percent(accuracy.before), percent(accuracy.after), "of \(accuracy.of)",
                ]))
        }
        lines.append(
            Self.columns([
                labels == nil ? "largest difference, relative" : "largest difference of a confidence", "",
                Units.decimal(difference.largest, places: 3), "mean \(Units.decimal(difference.mean, places: 5))",
            ]))
        lines.append(
            Self.columns([
                "time in the engine", "\(Units.decimal(before, places: 2)) ms", "\(Units.decimal(after, places: 2)) ms",
                speed.map { "\(Units.decimal($0, places: 2)) times as fast" } ?? "",
            ]))
        lines.append(Self.columns(["model file", Units.bytes(sizeBefore), Units.bytes(sizeAfter), ""]))
        if let slowness { lines.append(slowness) }
        return lines.joined(separator: "\n")
    }

    private static func columns(_ cells: [String]) -> String {
        var line = "  " + cells[0]
        for (cell, end) in zip(cells[1...2], [50, 64]) {
            line += cell.right(end - line.count)
        }
        return cells[3].isEmpty ? line : line + "  " + cells[3]
    }

    package var json: String {
        var writer = JSONWriter()
        let (before, after) = milliseconds
        writer.object { writer in
            writer.member("model", name)
            for (key, value) in [
                ("layers", outcome.layers), ("calibration", calibration), ("validation", validation),
                ("compared", pairs.count), ("bytes_before", sizeBefore), ("bytes_after", sizeAfter),
            ] {
                writer.member(key, value)
            }
            writer.key("float_layers")
            writer.array { writer in for name in outcome.float { writer.string(name) } }
            var numbers = [
                (labels == nil ? "cosine" : "agreement", agreement), ("largest_difference", difference.largest),
                ("mean_difference", difference.mean), ("engine_ms_before", before), ("engine_ms_after", after),
            ]
            if let speed { numbers.append(("times_as_fast", speed)) }
            if let accuracy {
                numbers.append(("accuracy_before", Double(accuracy.before) / Double(accuracy.of)))
                numbers.append(("accuracy_after", Double(accuracy.after) / Double(accuracy.of)))
            }
            for (key, value) in numbers {
                writer.member(key, value)
            }
            for (key, value) in [("nncf", outcome.nncf), ("openvino", outcome.openvino)] {
                writer.member(key, value)
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
