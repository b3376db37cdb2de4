internal import Inference
internal import JSON
internal import Rollout

/// The results of `ocelli compare`.
struct VersionReport {
    let old: String, new: String
    let task: String
    /// The share of answers that must agree.
    let requiredShare: Double
    /// The maximum ratio of the new model's inference time to that of the old one; nil for any.
    let latency: Double?
    var comparison: Comparison
    /// The number of pictures that could not be read.
    var unread = 0

    /// The maximum number of classes in the text, those with the lowest agreement.
    private static let maximumClasses = 5

    init(old: Model, new: Model, request: VersionComparison.Request, task: ObservationTask?, requiredShare: Double) {
        // Equal versions do not distinguish the models: a draft and a converted file often keep the version.
        let differ = old.description.version != new.description.version
        func name(_ path: String, _ model: Model) -> String {
            differ ? "\(path) (version \(model.description.version))" : path
        }
        self.old = name(request.old, old)
        self.new = name(request.new, new)
        self.task = task?.rawValue ?? "classify"
        self.requiredShare = requiredShare
        latency = request.latency
        // The sequential test needs a share above 0. It decides nothing here, because no more pictures follow.
        comparison = Comparison(agreement: max(requiredShare, 0.01))
    }

    var share: Double { comparison.agreement ?? 0 }
    var isSlow: Bool {
        guard let latency, let ratio = comparison.latency.ratio else { return false }
        return ratio > latency
    }
    var isGood: Bool { share + 1e-9 >= requiredShare && !isSlow && unread == 0 }

    /// The classes with differences, lowest agreement first.
    var worstClasses: [(label: String, counts: Comparison.ClassCounts)] {
        comparison.classes.filter { $0.value.agreed < $0.value.compared && $0.key != Comparison.otherClasses }
            .sorted {
                let (a, b) = (rate($0.value), rate($1.value))
                return a == b ? $0.key < $1.key : a < b
            }.map { ($0.key, $0.value) }
    }

    private func rate(_ counts: Comparison.ClassCounts) -> Double { Double(counts.agreed) / Double(counts.compared) }

    // MARK: Text

    var text: String {
        var lines = ["\(task): \(old) and \(new)"] + figures
        let classes = worstClasses.prefix(Self.maximumClasses)
        if !classes.isEmpty { lines.append("the classes that agree least:") }
        lines += classes.map { "  \(PrintableText.text($0.label)): \($0.counts.agreed) of \($0.counts.compared)" }
        if !comparison.differences.isEmpty { lines.append("the worst:") }
        lines += comparison.differences.map { PrintableText.text("  \($0.id): \($0.reason)") }
        return lines.joined(separator: "\n")
    }

    /// The counts and means, one per line.
    var figures: [String] {
        func rounded(_ value: Double) -> String { TensorComparison.rounded(value) }
        var lines = [
            "\(comparison.agreed) of \(comparison.compared) answers agree (\(rounded(share * 100))%), "
                + (share + 1e-9 >= requiredShare ? "enough" : "too few") + ": expected \(rounded(requiredShare * 100))%"
        ]
        if unread > 0 { lines.append("\(unread) could not be read") }
        if comparison.failures > 0 { lines.append("\(comparison.failures) of them with an error from only one model") }
        if let overlap = comparison.topFiveOverlap {
            lines.append("\(rounded(overlap * 100))% of the first five classes are the same")
        }
        if let difference = comparison.confidenceDifference {
            lines.append(
                "confidences of the first class differ by \(rounded(difference.mean)) on average, \(rounded(difference.largest)) at most"
            )
        }
        if let ratio = comparison.latency.ratio {
            lines.append(
                "an inference takes \(rounded(ratio)) times as long"
                    + (latency.map {
                        isSlow ? ", too long: expected at most \(rounded($0))" : ", expected at most \(rounded($0))"
                    } ?? ""))
        }
        return lines
    }

    // MARK: JSON

    var json: String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("old", old)
            writer.member("new", new)
            writer.member("task", task)
            writer.member("agrees", isGood)
            writer.member("compared", comparison.compared)
            writer.member("agreed", comparison.agreed)
            writer.member("agreement", share)
            writer.member("wanted", requiredShare)
            writer.member("unread", unread)
            writer.member("failures", comparison.failures)
            if let overlap = comparison.topFiveOverlap { writer.member("top5_overlap", overlap) }
            if let difference = comparison.confidenceDifference {
                writer.key("confidence_difference")
                writer.object { writer in
                    writer.member("mean", difference.mean)
                    writer.member("largest", difference.largest)
                }
            }
            if let ratio = comparison.latency.ratio { writer.member("latency_ratio", ratio) }
            writer.key("classes")
            writer.object { writer in
                for (label, counts) in comparison.classes.sorted(by: { $0.key < $1.key }) {
                    writer.key(label)
                    writer.object { writer in
                        writer.member("compared", counts.compared)
                        writer.member("agreed", counts.agreed)
                    }
                }
            }
            writer.key("differences")
            writer.array { writer in
                for difference in comparison.differences {
                    writer.object { writer in
                        writer.member("id", difference.id)
                        writer.member("reason", difference.reason)
                        writer.member("score", difference.score)
                    }
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
