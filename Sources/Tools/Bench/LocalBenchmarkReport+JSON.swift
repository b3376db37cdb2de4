internal import JSON

extension LocalBenchmarkReport {
    /// The report as one JSON object, for programs.
    package var json: String {
        var writer = JSONWriter(capacity: 4096)
        writer.object { writer in
            for (name, value) in [("model", model), ("path", path)] { writer.member(name, value) }
            writer.member("processors", processors)
            for (name, value) in [("instances", instances), ("concurrency", concurrency), ("rounds", rounds.count)] {
                writer.member(name, value)
            }
            writer.key("pictures")
            writer.array { writer in
                for picture in pictures {
                    writer.object { writer in
                        writer.member("name", picture.name)
                        writer.member("bytes", picture.bytes)
                    }
                }
            }
            writer.key("sides")
            writer.object { writer in
                for side in LocalBenchmarkSide.allCases {
                    writer.key(side.rawValue)
                    writer.object { writer in
                        writer.member("requests", rounds.reduce(0) { $0 + ($1[side]?.requests ?? 0) })
                        Self.write("requests_per_second", rate(side), to: &writer)
                        Self.write("cpu_us", cpu(side), to: &writer)
                        Self.write("busy", busy(side), to: &writer)
                    }
                }
            }
            Self.write("generator_cpu_us", generatorCPU, to: &writer)
            Self.write("requests_per_second_without_generator", rateWithoutGenerator, to: &writer)
            Self.write("ratio", ratio, to: &writer)
            Self.write("ratio_with_generator", ratioWithGenerator, to: &writer)
            Self.write("own_cpu_us", overhead, to: &writer)
            Self.write("transport_cpu_us", transport, to: &writer)
            Self.write("flow_cpu_us", flow, to: &writer)
            writer.member("warnings", warnings)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func write(_ name: String, _ figure: Figure, to writer: inout JSONWriter) {
        writer.key(name)
        writer.object { writer in
            for (key, value) in [("median", figure.median), ("least", figure.minimum), ("most", figure.maximum)] {
                writer.member(key, (value * 1000).rounded() / 1000)
            }
        }
    }
}
