internal import Inference

extension ModelReport {
    /// The report for programs: one JSON object; times in milliseconds.
    package var json: String {
        var writer = JSONWriter(capacity: 8192)
        writer.object { writer in
            for (key, value) in [
                ("model", model), ("path", path), ("engine", engine), ("device", device), ("hint", hint),
                ("precision", precision),
            ] {
                writer.key(key)
                writer.string(value)
            }
            writer.key("processors")
            writer.number(processors)
            for (key, value) in [("instances", instances), ("slots", slots)] {
                writer.key(key)
                writer.integer(value)
            }
            writer.key("load_ms")
            writer.object { writer in
                for (key, load) in [("uncached", uncached), ("cached", cached)] {
                    writer.key(key)
                    Self.write(load, to: &writer)
                }
            }
            writer.key("first_prediction_ms")
            if let firstPrediction { writer.milliseconds(firstPrediction) } else { writer.null() }
            writer.key("prediction_ms")
            if let latency { Self.write(latency, to: &writer) } else { writer.null() }
            writer.key("throughput")
            writer.array { writer in
                for entry in throughput {
                    writer.object { writer in
                        writer.key("in_flight")
                        writer.integer(entry.inFlight)
                        writer.key("predictions_per_second")
                        writer.number(entry.perSecond)
                        writer.key("prediction_ms")
                        Self.write(entry.latency, to: &writer)
                    }
                }
            }
            writer.key("memory_bytes")
            writer.object { writer in
                for (key, value) in [("model", modelBytes), ("prediction_in_flight", predictionBytes)] {
                    writer.key(key)
                    if let value { writer.integer(value) } else { writer.null() }
                }
            }
            writeLayers(to: &writer)
            writer.key("warnings")
            writer.array { writer in for warning in warnings { writer.string(warning) } }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func writeLayers(to writer: inout JSONWriter) {
        writer.key("layer_types")
        writer.array { writer in
            for type in layerTypes {
                writer.object { writer in
                    writer.key("type")
                    writer.string(type.type)
                    writer.key("layers")
                    writer.integer(type.count)
                    Self.write(type.microseconds, type.share, to: &writer)
                }
            }
        }
        writer.key("layers")
        writer.array { writer in
            for layer in layers {
                writer.object { writer in
                    for (key, value) in [("name", layer.name), ("type", layer.type), ("execution", layer.execution)] {
                        writer.key(key)
                        writer.string(value)
                    }
                    Self.write(layer.microseconds, layer.share, to: &writer)
                }
            }
        }
        writer.key("layer_count")
        writer.integer(layerCount)
    }

    private static func write(_ microseconds: Double, _ share: Double, to writer: inout JSONWriter) {
        writer.key("microseconds")
        writer.number(microseconds)
        writer.key("share")
        writer.number(share)
    }

    private static func write(_ load: LoadReport, to writer: inout JSONWriter) {
        writer.object { writer in
            for (key, value) in [
                ("read", load.read), ("compile", load.compile), ("warm_up", load.warmUp), ("total", load.total),
            ] {
                writer.key(key)
                writer.milliseconds(value)
            }
            writer.key("from_cache")
            writer.bool(load.isCached)
        }
    }

    private static func write(_ sample: SampleStatistics, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("count")
            writer.integer(sample.count)
            for (key, value) in [
                ("p50", sample.p50), ("p90", sample.p90), ("p99", sample.p99), ("least", sample.least),
                ("most", sample.most), ("mean", UInt64(sample.mean)),
            ] {
                writer.key(key)
                writer.milliseconds(value)
            }
        }
    }
}
