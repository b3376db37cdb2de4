internal import ModelFacts

/// The preparation of pictures by the own programs of families that are recognized by their outputs. A file of such a
/// family does not contain it.
enum FamilyPictures: String, Sendable {
    case yolox = "YOLOX"
    case ultraFace = "UltraFace"
    case moveNet = "MoveNet"

    /// Adds the facts about the preparation that no source states, and the question whether they are right.
    func complete(_ sheet: inout FactSheet, _ provenance: inout ModelProvenance) {
        guard sheet.framing == nil || sheet.normalization == nil || sheet.order == nil else { return }
        sheet = .merged([sheet, self.sheet])
        provenance.leaveOpen("pictures", question)
    }

    private var sheet: FactSheet {
        func usual<Value>(_ value: Value) -> Fact<Value> {
            Fact(value, source: rawValue, key: "the convention of its own program", basis: .convention)
        }
        var sheet = FactSheet()
        var form = PictureNormalization()
        form.rescale = 1
        sheet.filter = usual(.linear)
        sheet.order = usual(self == .yolox ? .bgr : .rgb)
        switch self {
        case .yolox:
            sheet.framing = usual(PictureFraming(.letterbox(nil, topLeft: true)))
            sheet.fill = usual([114])
        case .ultraFace:
            sheet.framing = usual(PictureFraming(.stretch))
            (form.mean, form.std) = ([127], [128])
        case .moveNet:
            sheet.framing = usual(PictureFraming(.letterbox(nil, topLeft: false)))
            sheet.fill = usual([0])
        }
        sheet.normalization = usual(form)
        return sheet
    }

    /// The question about the preparation, as text after "do not specify".
    private var question: String {
        let words =
            switch self {
            case .yolox: "BGR, 0 to 255, at the top left on gray 114"
            case .ultraFace: "RGB, (pixel - 127) / 128, stretched"
            case .moveNet: "RGB, 0 to 255, in the middle on black"
            }
        return "whether pictures are prepared as by \(rawValue)'s own program: \(words)"
    }
}
