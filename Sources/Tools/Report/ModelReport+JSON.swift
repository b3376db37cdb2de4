internal import Inference
internal import JSON

extension ModelReport {
    /// The report as one JSON object, for programs; times in milliseconds.
    package var json: String {
        var writer = JSONWriter(capacity: 8192)
        writer.object { writer in
            for (key, value) in [
                ("model", model), ("path", path), ("engine", engine), ("device", device), ("hint", hint),
                ("precision", precision),
            ] {
                writer.member(key, value)
            }
            writer.member("processors", processors)
            for (key, value) in [("instances", instances), ("slots", slots)] {
                writer.member(key, value)
            }
            writer.key("load_ms")
            writer.object { writer in
                for (key, load) in [("uncached", uncached), ("cached", cached)] {
                    writer.key(key)
                    Self.write(load, to: &writer)
                }
            }
            writer.member("first_prediction_ms", milliseconds: firstPrediction)
            writer.key("prediction_ms")
            if let latency { Self.write(latency, to: &writer) } else { writer.null() }
            writer.key("lone")
            if let singleStream { Self.write(singleStream, to: &writer) } else { writer.null() }
            writer.key("throughput")
            writer.array { writer in
                for entry in throughput {
                    writer.object { writer in
                        writer.member("in_flight", entry.inFlight)
                        writer.member("predictions_per_second", entry.perSecond)
                        writer.key("prediction_ms")
                        Self.write(entry.latency, to: &writer)
                    }
                }
            }
            writer.key("memory_bytes")
            writer.object { writer in
                for (key, value) in [("model", modelBytes), ("prediction_in_flight", predictionBytes)] {
                    writer.member(key, ifKnown: value)
                }
            }
            writeLayers(to: &writer)
            writer.member("warnings", warnings)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func writeLayers(to writer: inout JSONWriter) {
        writer.key("layer_types")
        writer.array { writer in
            for type in layerTypes {
                writer.object { writer in
                    writer.member("type", type.type)
                    writer.member("layers", type.count)
                    Self.write(type.microseconds, type.share, to: &writer)
                }
            }
        }
        writer.key("layers")
        writer.array { writer in
            for layer in layers {
                writer.object { writer in
                    for (key, value) in [("name", layer.name), ("type", layer.type), ("execution", layer.execution)] {
                        writer.member(key, value)
                    }
                    Self.write(layer.microseconds, layer.share, to: &writer)
                }
            }
        }
        writer.member("layer_count", layerCount)
    }

    private static func write(_ microseconds: Double, _ share: Double, to writer: inout JSONWriter) {
        writer.member("microseconds", microseconds)
        writer.member("share", share)
    }

    private static func write(_ singleStream: SingleStream, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("threads", singleStream.threads)
            writer.key("prediction_ms")
            write(singleStream.latency, to: &writer)
            writer.member("load_ms", milliseconds: singleStream.load)
            writer.member("from_cache", singleStream.isCached)
            writer.member("memory_bytes", ifKnown: singleStream.bytes)
        }
    }

    private static func write(_ load: LoadReport, to writer: inout JSONWriter) {
        writer.object { writer in
            for (key, value) in [
                ("read", load.read), ("compile", load.compile), ("warm_up", load.warmUp), ("total", load.total),
            ] {
                writer.member(key, milliseconds: value)
            }
            writer.member("from_cache", load.isCached)
        }
    }

    private static func write(_ sample: SampleStatistics, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("count", sample.count)
            for (key, value) in [
                ("p50", sample.p50), ("p90", sample.p90), ("p99", sample.p99), ("least", sample.minimum),
                ("most", sample.maximum), ("mean", UInt64(sample.mean)),
            ] {
                writer.member(key, milliseconds: value)
            }
        }
    }
}
