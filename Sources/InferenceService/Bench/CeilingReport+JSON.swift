extension CeilingReport {
    /// The report for programs: one JSON object.
    package var json: String {
        var writer = JSONWriter(capacity: 4096)
        writer.object { writer in
            for (key, value) in [("model", model), ("path", path)] {
                writer.key(key)
                writer.string(value)
            }
            writer.key("processors")
            writer.number(processors)
            for (key, value) in [("instances", instances), ("concurrency", concurrency), ("rounds", rounds.count)] {
                writer.key(key)
                writer.integer(value)
            }
            writer.key("pictures")
            writer.array { writer in
                for picture in pictures {
                    writer.object { writer in
                        writer.key("name")
                        writer.string(picture.name)
                        writer.key("bytes")
                        writer.integer(picture.bytes)
                    }
                }
            }
            writer.key("sides")
            writer.object { writer in
                for side in CeilingSide.allCases {
                    writer.key(side.rawValue)
                    writer.object { writer in
                        Self.write("requests", rounds.reduce(0) { $0 + ($1[side]?.requests ?? 0) }, to: &writer)
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
            writer.key("warnings")
            writer.array { writer in for warning in warnings { writer.string(warning) } }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func write(_ name: String, _ value: Int, to writer: inout JSONWriter) {
        writer.key(name)
        writer.integer(value)
    }

    private static func write(_ name: String, _ figure: Figure, to writer: inout JSONWriter) {
        writer.key(name)
        writer.object { writer in
            for (key, value) in [("median", figure.median), ("least", figure.least), ("most", figure.most)] {
                writer.key(key)
                writer.number((value * 1000).rounded() / 1000)
            }
        }
    }
}
