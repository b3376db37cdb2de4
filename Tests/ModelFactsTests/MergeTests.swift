import FileFormats
import ModelFacts
import Testing

@Suite struct MergeTests {
    private func config(_ text: String, _ source: String) -> FactSheet {
        HuggingFaceReader.config(Array(text.utf8), source: source)
    }

    @Test("different labels in two files are reported with the file that wins, equal labels are not")
    func disagreementsAreReportedAndAgreementsAreNot() {
        let first = config(#"{"id2label": {"0": "cat", "1": "dog"}}"#, "a.json")
        let second = config(#"{"id2label": {"0": "cat", "1": "dog"}}"#, "b.json")
        let third = config(#"{"id2label": {"0": "cat", "1": "fox"}}"#, "c.json")
        #expect(FactSheet.merged([first, second]).disagreements.isEmpty)
        let merged = FactSheet.merged([first, third])
        #expect(merged.labels == first.labels)
        #expect(
            merged.disagreements.map(\.sentence) == [
                "labels: a.json says 2 (\"cat\", \"dog\"), c.json says 2 (\"cat\", \"fox\"); a.json wins"
            ])
    }

    /// A key counts more than the default of a library, and both more than a convention, in any order.
    @Test("a stated value wins over a library's default, and a default over a convention")
    func aConventionYieldsToADefaultAndADefaultToAStatement() {
        func filter(_ value: PictureFilter, _ basis: FactBasis) -> FactSheet {
            var sheet = FactSheet()
            sheet.filter = Fact(value, source: "\(basis)", key: "k", basis: basis)
            return sheet
        }
        let all = [filter(.bilinear, .convention), filter(.bicubic, .preset), filter(.linear, .stated)]
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]] {
            let merged = FactSheet.merged(order.map { all[$0] })
            #expect(merged.filter?.value == .linear && merged.disagreements.isEmpty)
        }
        #expect(FactSheet.merged([all[0], all[1]]).filter?.value == .bicubic)
        // Of equally strong values the first counts, and a different stated value is noted.
        let merged = FactSheet.merged([filter(.area, .stated), all[2]])
        #expect(merged.filter?.value == .area && merged.disagreements.isEmpty)
        var other = FactSheet()
        other.filter = Fact(.box, source: "another", key: "k")
        #expect(FactSheet.merged([all[2], other]).disagreements.count == 1)
    }

    /// Every reader marks values that its source does not give: another source that gives them takes precedence.
    @Test(
        "the defaults of any metadata source yield to what another source states",
        arguments: [
            (
                "transformers",
                HuggingFaceReader.preprocessor(Array(#"{"image_processor_type": "ViTImageProcessor"}"#.utf8))
            ),
            ("timm", TimmReader.config(Array(#"{"architecture": "x", "pretrained_cfg": {}}"#.utf8))),
            ("Ultralytics", UltralyticsReader.yaml(Array("task: detect\nimgsz: [64, 64]\n".utf8))),
            (
                "Roboflow",
                RoboflowReader.environment(Array(#"{"PREPROCESSING": {"resize": {"width": 64, "height": 64}}}"#.utf8))
            ),
            (
                "Model API",
                OpenVINOReader.read(
                    Array(
                        #"<net><rt_info><model_info><model_type value="ssd"/></model_info></rt_info></net>"#.utf8),
                    name: "m.xml")
            ),
        ])
    func whatASourceDoesNotSayYields(_ name: String, _ usual: FactSheet) {
        var stated = FactSheet()
        stated.filter = Fact(.area, source: "other", key: "filter")
        stated.order = Fact(.gray, source: "other", key: "order")
        var form = PictureNormalization()
        form.mean = [7]
        stated.normalization = Fact(form, source: "other", key: "mean")
        #expect(usual.filter != nil && usual.order != nil, "\(name)")
        for merged in [FactSheet.merged([usual, stated]), .merged([stated, usual])] {
            #expect(merged.filter?.source == "other" && merged.order?.source == "other", "\(name)")
            #expect(merged.normalization?.source == "other", "\(name)")
            #expect(merged.disagreements.isEmpty, "\(name): \(merged.disagreements)")
        }
    }

    @Test("normalizations stated in two notations agree if they give the same values")
    func statedNormalizationsInTwoNotations_thatGiveTheSame_agree() {
        func sheet(_ source: String, _ rescale: Double, _ std: Double) -> FactSheet {
            var form = PictureNormalization()
            (form.rescale, form.std) = (rescale, [std, std, std])
            var sheet = FactSheet()
            sheet.normalization = Fact(form, source: source, key: "std")
            return sheet
        }
        #expect(FactSheet.merged([sheet("a", 1 / 255.0, 1), sheet("b", 1, 255)]).disagreements.isEmpty)
        #expect(FactSheet.merged([sheet("a", 1 / 255.0, 1), sheet("b", 1, 254)]).disagreements.count == 1)
    }

    @Test("Ultralytics' defaults agree with an OpenVINO file that states the same preprocessing")
    func normalizationsThatGiveTheSameAgree() {
        let yaml = UltralyticsReader.yaml(Array("task: detect\n".utf8))
        let xml = """
            <net><rt_info><model_info><scale_values value="255"/><reverse_input_channels value="YES"/>
            <resize_type value="fit_to_window_letterbox"/><pad_value value="114"/></model_info></rt_info></net>
            """
        let info = OpenVINOReader.read(Array(xml.utf8), name: "m.xml")
        #expect(info.problems.isEmpty)
        #expect(FactSheet.merged([yaml, info]).disagreements.isEmpty)
    }
}
