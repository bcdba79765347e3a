"""What ``h200_gemm_model.py`` measures: shapes of each draw, tiles of the sweep."""

SWEPT = ((4096, 4096, 4096), (5120, 5120, 3072), (8192, 8192, 2048))
SHAPES = {  # by the seed that draws the candidates; 0: the sweep
    0: SWEPT,
    17: (
        (3840, 6144, 4608),
        (7680, 2048, 5120),
        (1536, 10240, 3072),
        (4608, 4608, 2304),
        (2304, 16384, 1536),
        (9216, 3584, 6656),
    ),
    19: (
        (4864, 7168, 3584),
        (10240, 2560, 2560),
        (1280, 12288, 7168),
        (3328, 3328, 6656),
        (2816, 10752, 2048),
        (5632, 5632, 1536),
    ),
}
VARIED = {  # tiles and consumers of the tile pass's own candidates, and what is pinned otherwise
    17: (
        ((128, 256, 2), {"stages": 3}),
        ((256, 128, 2), {"epilogue_stages": 2}),
        ((128, 192, 2), {"raster_group": 4}),
        ((128, 128, 1), {"pingpong": 2}),
        ((128, 176, 1), {"pingpong": 2}),
        ((128, 200, 1), {"pingpong": 2, "raster_group": 32}),
    ),
    19: (
        ((128, 224, 2), {"stages": 2}),
        ((256, 144, 2), {"stages": 3}),
        ((128, 160, 2), {"raster_group": 4}),
        ((128, 144, 1), {"pingpong": 2}),
        ((128, 192, 1), {"pingpong": 2}),
        ((128, 208, 1), {"pingpong": 2, "raster_group": 8}),
    ),
}
ONE, TWO, TURNS = (
    {"consumer_warpgroups": 1},
    {"consumer_warpgroups": 2},
    {"consumer_warpgroups": 1, "pingpong": 2},
)
SWEEP = (  # rows, columns, choices
    (128, (64, 96, 104, 112, 120, 128, 136, 144, 160, 176, 192, 200, 208), TURNS),
    (128, (64, 96, 112, 128, 160, 192), ONE),
    (128, (64, 96, 112, 128, 144, 176, 208, 256), TWO),
    (64, (64, 96, 128, 160, 192, 256), ONE),
    (64, (64, 96, 128, 160, 192, 256), TURNS),
    (64, (96, 128, 192), ONE | {"k": 128}),
    (64, (96, 192), TURNS | {"k": 128}),
    (256, (64, 96, 128, 160, 192), TWO),
    *((128, (112, 128), TURNS | {"raster_group": rows}) for rows in (8, 32)),
    *((64, (192,), how | {"raster_group": 8}) for how in (ONE, TURNS)),
    *((128, (112, 128), TURNS | more) for more in ({"epilogue_stages": 1}, {"stages": 4})),
    *((128, (128,), TWO | {"stages": slots}) for slots in (2, 3, 4)),
    *((128, (256,), TWO | {"stages": slots}) for slots in (2, 3)),
    *((256, (128,), TWO | {"stages": slots, "epilogue_stages": 1}) for slots in (2, 3)),
    *((64, (256,), ONE | {"stages": slots}) for slots in (2, 3)),
)
