// What becomes of an MPDU; the numbers count in ccmp_core's counters.
localparam [3:0] SEALED_OR_OPENED = 4'd0;
localparam [3:0] SHORT = 4'd1;  // it ends before its header, its CCMP header or its MIC does
localparam [3:0] LONG = 4'd2;  // it has more octets than MAX_OCTETS
localparam [3:0] NOT_PROTECTED = 4'd3;  // to be opened, but without the Protected bit
localparam [3:0] BAD_HEADER = 4'd4;  // of a kind that is never protected, or without Ext IV
localparam [3:0] NO_KEY = 4'd5;  // none is installed by this number
localparam [3:0] KEY_MISMATCH = 4'd6;  // it names another key identifier than the key has
localparam [3:0] EXHAUSTED = 4'd7;  // to be sealed, but all packet numbers of the key are used up
localparam [3:0] BAD_MIC = 4'd8;
localparam [3:0] REPLAYED = 4'd9;  // its packet number is not above the last one of its priority
localparam VERDICTS = 10;
